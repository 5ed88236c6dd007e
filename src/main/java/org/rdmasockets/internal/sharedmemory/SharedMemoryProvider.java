package org.rdmasockets.internal.sharedmemory;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.rdmasockets.internal.sharedmemory.link.LinkHub;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.spi.TransportProvider;

/** Verbs over memory that processes of one host share. One object serves the process. */
public final class SharedMemoryProvider implements TransportProvider {
    /** The name as settings spell it. */
    public static final String NAME = "sharedmemory";

    /** Asked first, so that a connection to another host loads nothing of links. */
    private static final boolean HAS_DIRECTORY = System.getProperty(LinkHub.DIRECTORY_SETTING) != null;

    final SharedMemoryFabric fabric;
    /** Whether the end of a connection manager is the end of this. */
    private final boolean once;

    /** A provider with a device of its own: what is made by one cannot be used with another. */
    public SharedMemoryProvider() {
        this(false);
    }

    /** A provider for tests; {@code linksOnly} to reach even this process by a link. */
    SharedMemoryProvider(boolean linksOnly) {
        this(linksOnly, false);
    }

    private SharedMemoryProvider(boolean linksOnly, boolean once) {
        fabric = new SharedMemoryFabric(linksOnly);
        this.once = once;
    }

    /** Datagrams between the processes of this host, by address and port. */
    public DatagramPorts datagramPorts() {
        return fabric.datagramPorts();
    }

    /**
     * Whether a process in another network namespace listens at an address that is not of this host, or seems to. False
     * unless the settings name a directory for that.
     */
    public static boolean leadsElsewhere(InetSocketAddress address) {
        return HAS_DIRECTORY && LinkHub.isElsewhere(address);
    }

    /** Whether an address that is not of this host may be one of a process that shares memory: see the settings. */
    public static boolean spansNetworks() {
        return HAS_DIRECTORY && LinkHub.spansNetworks();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailability() {
        return LinkHub.unavailability();
    }

    @Override
    public List<DeviceInfo> devices() {
        return List.of(fabric.device.info());
    }

    @Override
    public Device open(String name) throws VerbsException {
        if (!name.equals(SharedMemoryDevice.NAME)) {
            throw new VerbsException("ibv_open_device", Errno.ENODEV.number(), "name=" + name,
                    "the only device is " + SharedMemoryDevice.NAME);
        }
        return fabric.device;
    }

    @Override
    public boolean mayBlock() {
        return false;
    }

    @Override
    public EventPoller createEventPoller() throws VerbsException {
        return new SharedMemoryEventPoller(fabric);
    }

    @Override
    public ConnectionManager createConnectionManager() throws VerbsException {
        fabric.links.hub();
        return new SharedMemoryConnectionManager(fabric, once);
    }

    /** Its two ends meet over a link, as those of two processes do. */
    @Override
    public Optional<TransportProvider> rehearsal() {
        return Optional.of(new SharedMemoryProvider(true, true));
    }

    @Override
    public boolean resolveAtOnce(ConnectionIdentifier identifier, InetSocketAddress destination)
            throws VerbsException {
        return ((SharedMemoryIdentifier) identifier).resolveAtOnce(destination);
    }

    @Override
    public boolean isPeerStopped(ConnectionIdentifier identifier) {
        return ((SharedMemoryIdentifier) identifier).isPeerStopped();
    }

    @Override
    public OptionalInt peerUser(ConnectionIdentifier identifier) {
        return ((SharedMemoryIdentifier) identifier).peerUser();
    }
}
