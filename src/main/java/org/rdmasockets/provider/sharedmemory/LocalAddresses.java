package org.rdmasockets.provider.sharedmemory;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** The addresses of this host, which are those of the device. */
final class LocalAddresses {
    /** How many places {@link #recent} remembers; a power of two. */
    private static final int PLACES = 16;
    private static final AtomicReferenceArray<Named> RECENT = new AtomicReferenceArray<>(PLACES);
    /** The last one that was found to be given without a name: to find out takes two texts. */
    private static volatile InetAddress nameless;

    /** An address, and what it was called when it came. */
    private record Named(InetSocketAddress address, String name) {}

    private LocalAddresses() {}

    /**
     * An address, or one asked for before if that is equal, also in its name: thousands of connections may lead to one
     * place. They share the host name, too, once somebody has looked it up.
     */
    static InetSocketAddress recent(InetSocketAddress address) {
        String name = address.getHostString();
        int place = (address.hashCode() ^ name.hashCode()) & PLACES - 1;
        Named before = RECENT.get(place);
        // Equal addresses of IPv6 may have different scopes.
        if (before != null && address.getAddress() instanceof Inet4Address && address.equals(before.address)
                && name.equals(before.name)) {
            return before.address;
        }
        RECENT.set(place, new Named(address, name));
        return address;
    }

    /** Refuses an address, which may be the wildcard, that is none of this host's: {@link Errno#ENODEV}. */
    static void require(SharedMemoryFabric fabric, String call, InetSocketAddress address) throws VerbsException {
        InetAddress host = address.getAddress();
        if (host == null) {
            throw new IllegalArgumentException("the address is not resolved: " + address);
        }
        if (fabric.isRemoved()) {
            throw new VerbsException(call, Errno.ENODEV.number(), "address=" + Refusals.text(address),
                    "the device was removed");
        }
        if (!host.isAnyLocalAddress() && !isLocal(host)) {
            throw new VerbsException(call, Errno.ENODEV.number(), "address=" + Refusals.text(address),
                    "no RDMA device for this address: shared memory reaches addresses of this host only");
        }
    }

    private static boolean isLocal(InetAddress host) {
        if (host.isLoopbackAddress()) {
            return true;
        }
        try {
            return NetworkInterface.getByInetAddress(host) != null;
        } catch (SocketException e) {
            return false;
        }
    }

    /**
     * An address with the objects of another, which is kept in any case, as far as these are equal: a host has few
     * addresses, and may have thousands of connections. Not with those of one that somebody has given by name: the name
     * would show.
     */
    static InetSocketAddress sharing(InetSocketAddress address, InetSocketAddress known) {
        InetAddress host = known.getAddress();
        // Equal addresses of IPv6 may have different scopes.
        if (host instanceof Inet6Address || !address.getAddress().equals(host) || !isNameless(known)) {
            return address;
        }
        return address.equals(known) ? known : new InetSocketAddress(host, address.getPort());
    }

    private static boolean isNameless(InetSocketAddress known) {
        InetAddress host = known.getAddress();
        if (host != nameless && known.getHostString().equals(host.getHostAddress())) {
            nameless = host;
        }
        return host == nameless;
    }

    /** Where a connection to an address goes: connecting to the wildcard means this host. */
    static InetSocketAddress destination(InetSocketAddress address) {
        if (!address.getAddress().isAnyLocalAddress()) {
            return address;
        }
        byte[] loopback = address.getAddress() instanceof Inet6Address
                ? new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1} : new byte[] {127, 0, 0, 1};
        try {
            return new InetSocketAddress(InetAddress.getByAddress(loopback), address.getPort());
        } catch (UnknownHostException e) {
            throw new AssertionError("4 and 16 bytes are an address", e);
        }
    }
}
