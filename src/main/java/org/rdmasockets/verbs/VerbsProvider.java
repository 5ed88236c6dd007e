package org.rdmasockets.verbs;

import java.util.List;
import java.util.Optional;
import java.util.Set;

/** An implementation of verbs: where devices come from. */
public interface VerbsProvider {
    /** {@return the provider's name as settings spell it, for example {@code ibverbs}} */
    String name();

    /**
     * {@return why this provider cannot be used on this machine now and what to do about it, in one sentence; empty if
     * it can}
     */
    Optional<String> unavailability();

    /**
     * The devices of this machine ({@code ibv_get_device_list}).
     *
     * @return all devices, in the kernel's order; empty if there are none
     * @throws VerbsException if the provider is unavailable
     */
    List<DeviceInfo> devices() throws VerbsException;

    /**
     * Opens a device, or returns it if it is open already: devices belong to the connection manager
     * ({@code rdma_get_devices}) and are shared by the whole process. <em>May block</em>.
     *
     * @param name the device's name
     * @return the device
     * @throws VerbsException if there is none of that name, or it cannot be opened
     */
    Device open(String name) throws VerbsException;

    /**
     * Makes a poller for this provider's event sources.
     *
     * @return a new poller
     * @throws VerbsException if the descriptors cannot be had
     */
    EventPoller createEventPoller() throws VerbsException;

    /**
     * Makes a connection manager with an event channel of its own ({@code rdma_create_event_channel}).
     *
     * @return a new connection manager
     * @throws VerbsException if the provider is unavailable
     */
    ConnectionManager createConnectionManager() throws VerbsException;

    /**
     * Keeps the calling thread on the processors of the NUMA nodes that devices are on
     * ({@code sched_setaffinity}); platform threads only. Threads that it starts inherit that. Replaces
     * what an earlier call has set.
     *
     * @param devices names of devices of this provider; one that is on no node does not count
     * @return the processors as the kernel writes them, such as {@code 0-7,16-23}
     * @throws VerbsException if no device is on a node, or the system refuses; says why. The thread stays as it was
     */
    default String stayNear(Set<String> devices) throws VerbsException {
        throw new VerbsException("sched_setaffinity", Errno.EOPNOTSUPP.number(), "devices=" + devices,
                "a device without hardware is on no NUMA node");
    }
}
