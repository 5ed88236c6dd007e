package org.rdmasockets.internal.sharedmemory;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.DatagramChannel;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.rdmasockets.internal.sharedmemory.link.LinkHub;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** The addresses of this host, which are those of the device. */
final class LocalAddresses {
    static final int IPV4_BYTES = 4;
    static final int IPV6_BYTES = 16;
    /** How many places {@link #recent} remembers; a power of two. */
    private static final int PLACES = 16;
    private static final AtomicReferenceArray<InetSocketAddress> RECENT = new AtomicReferenceArray<>(PLACES);

    private LocalAddresses() {}

    /**
     * An address, or one asked for before if that is equal, also in its name: thousands of connections may lead to one
     * place. They share the host name, too, once a thread has looked it up; it does not show in later ones.
     */
    static InetSocketAddress recent(InetSocketAddress address) {
        String text = address.getAddress().toString(); // with the name, if it has one
        int place = (address.hashCode() ^ text.hashCode()) & PLACES - 1;
        InetSocketAddress before = RECENT.get(place);
        // Equal addresses of IPv6 may have different scopes.
        if (address.getAddress() instanceof Inet4Address && address.equals(before)
                && text.equals(before.getAddress().toString())) {
            return before;
        }
        RECENT.set(place, address);
        return address;
    }

    /**
     * Refuses a destination that is none of this host's, nor one where a process in another network namespace shares
     * memory: {@link Errno#ENODEV}.
     */
    static void requireReachable(SharedMemoryFabric fabric, InetSocketAddress destination) throws VerbsException {
        if (destination.getAddress() == null || !LinkHub.isElsewhere(destination)) {
            require(fabric, "rdma_resolve_addr", destination);
        }
    }

    /** The address that a connection to a destination comes from, if it has not been bound. */
    static InetAddress source(InetSocketAddress destination) throws VerbsException {
        if (!LinkHub.isElsewhere(destination)) {
            return destination.getAddress();
        }
        try (DatagramChannel probe = DatagramChannel.open()) { // sends nothing
            probe.connect(destination);
            return ((InetSocketAddress) probe.getLocalAddress()).getAddress();
        } catch (IOException e) {
            throw new VerbsException("rdma_resolve_addr", Errno.ENETUNREACH.number(), "address="
                    + SharedMemoryErrors.text(destination), "no route leads there: " + e.getMessage());
        }
    }

    /**
     * Whether a process of another network namespace may mean these addresses: this host has the destination and not
     * the source, and neither is loopback, which is never the same there and here.
     */
    static boolean isBetweenHosts(InetAddress destination, InetAddress source) {
        return !destination.isLoopbackAddress() && LinkHub.isLocal(destination) && !source.isAnyLocalAddress()
                && !LinkHub.isLocal(source);
    }

    /** Refuses an address, which may be the wildcard, that is none of this host's: {@link Errno#ENODEV}. */
    static void require(SharedMemoryFabric fabric, String call, InetSocketAddress address) throws VerbsException {
        InetAddress host = address.getAddress();
        if (host == null) {
            throw new IllegalArgumentException("the address is not resolved: " + address);
        }
        if (fabric.removed) {
            throw new VerbsException(call, Errno.ENODEV.number(), "address=" + SharedMemoryErrors.text(address),
                    "the device was removed");
        }
        if (!host.isAnyLocalAddress() && !LinkHub.isLocal(host)) {
            throw new VerbsException(call, Errno.ENODEV.number(), "address=" + SharedMemoryErrors.text(address),
                    "no RDMA device for this address: shared memory reaches addresses of this host only");
        }
    }

    /**
     * An address with the objects of another, which is kept in any case, as far as these are equal: a host has few
     * addresses, and may have thousands of connections. Nothing is shared with an address whose name was given or
     * looked up: the name would show.
     */
    static InetSocketAddress sharing(InetSocketAddress address, InetSocketAddress known) {
        InetAddress host = known.getAddress();
        // Equal addresses of IPv6 may have different scopes.
        if (host instanceof Inet6Address || !address.getAddress().equals(host) || !host.toString().startsWith("/")) {
            return address;
        }
        return address.equals(known) ? known : new InetSocketAddress(host, address.getPort());
    }

    /** Where a connection to an address goes: connecting to the wildcard means this host. */
    static InetSocketAddress destination(InetSocketAddress address) {
        if (!address.getAddress().isAnyLocalAddress()) {
            return address;
        }
        byte[] loopback = address.getAddress() instanceof Inet6Address
                ? new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1} : new byte[] {127, 0, 0, 1};
        return new InetSocketAddress(host(loopback, 0), address.getPort());
    }

    /** An address of 4 or 16 bytes; the scope is 0 where there is none. */
    static InetAddress host(byte[] bytes, int scope) {
        try {
            return bytes.length == IPV6_BYTES && scope > 0 ? Inet6Address.getByAddress(null, bytes, scope)
                    : InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new AssertionError("4 and 16 bytes are an address", e);
        }
    }
}
