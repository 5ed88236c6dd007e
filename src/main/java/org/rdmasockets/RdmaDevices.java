package org.rdmasockets;

import java.util.List;
import java.util.Optional;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * Tells what RDMA devices this machine has, or why it has none; the way into {@link org.rdmasockets.verbs}.
 *
 * @since 0.1
 */
public final class RdmaDevices {
    private RdmaDevices() {}

    /**
     * {@return the RDMA devices of this machine in the kernel's order; none exactly if {@link #unavailability()} gives
     * a reason}
     */
    public static List<DeviceInfo> list() {
        VerbsProvider provider = Providers.ibverbs();
        if (provider.unavailability().isPresent()) {
            return List.of();
        }
        try {
            return List.copyOf(provider.devices());
        } catch (VerbsException e) {
            return List.of(); // unavailability() has the reason
        }
    }

    /**
     * Opens a device, which the whole process shares.
     *
     * @param name a device's name, from {@link #list()}
     * @return the device
     * @throws VerbsException if there is none of that name, or it cannot be opened
     */
    public static Device open(String name) throws VerbsException {
        return Providers.ibverbs().open(name);
    }

    /**
     * Verbs of a transport, for programs that make connections: {@link VerbsProvider#createConnectionManager} does, and
     * devices come with them.
     *
     * @param transport {@link Transport#IBVERBS}, or {@link Transport#SHARED_MEMORY} for the same without a device
     * @return the verbs, which the whole process shares; whether they can be used here, they say themselves
     * @throws IllegalArgumentException if the transport has no verbs
     */
    public static VerbsProvider verbs(Transport transport) {
        return Providers.named(transport.name());
    }

    /**
     * {@return why RDMA devices cannot be used on this machine now and what to do about it, in one sentence; empty if
     * they can} Sockets use other transports then.
     */
    public static Optional<String> unavailability() {
        VerbsProvider provider = Providers.ibverbs();
        return provider.unavailability().or(() -> deviceTrouble(provider));
    }

    private static Optional<String> deviceTrouble(VerbsProvider provider) {
        try {
            return provider.devices().isEmpty()
                    ? Optional.of("no RDMA device found; load the driver of the adapter, or make a soft-RoCE device "
                            + "with 'rdma link add rxe0 type rxe netdev INTERFACE'")
                    : Optional.empty();
        } catch (VerbsException e) {
            return Optional.of(e.getMessage());
        }
    }
}
