package org.rdmasockets.verbs;

import java.util.List;
import java.util.Optional;

/**
 * An implementation of verbs: where devices come from.
 *
 * @since 0.1
 */
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
}
