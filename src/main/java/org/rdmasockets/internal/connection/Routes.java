package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.nio.channels.DatagramChannel;

/** Asks the routing table, without a packet. Any thread may ask; an answer takes some ten microseconds. */
public final class Routes {
    /** Connections to this come from the same address; of the others, such as 127.0.0.2, the kernel decides. */
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    private Routes() {}

    /** Whether sockets of this JVM have addresses of version 6: not if the kernel or the JVM's settings forbid it. */
    private static final class VersionSix {
        static final boolean AVAILABLE = available();

        private static boolean available() {
            try (DatagramChannel probe = DatagramChannel.open(StandardProtocolFamily.INET6)) {
                return probe.isOpen();
            } catch (UnsupportedOperationException e) {
                return false;
            } catch (IOException e) {
                return true; // too many open files, which says nothing of this
            }
        }
    }

    /** Whether sockets may have addresses of version 6: not with {@code preferIPv4Stack}, or without a kernel's. */
    public static boolean hasVersionSix() {
        return VersionSix.AVAILABLE;
    }

    /** Refuses an address of version 6, if this JVM has only version 4, as the JDK does. */
    public static void ensureFamily(InetAddress address) throws SocketException {
        if (address instanceof Inet6Address && !hasVersionSix()) {
            throw noFamily();
        }
    }

    /** The JDK's refusal of an address of version 6. */
    static SocketException noFamily() {
        return new SocketException("IPv6 protocol family unavailable");
    }

    /**
     * The local address that a connection to a peer would have: a connected UDP socket knows it and sends nothing.
     * Throws {@code ConnectException} if there is no route, {@code SocketException} if there are too many open files,
     * or this JVM has no such addresses.
     */
    public static InetAddress sourceOf(InetSocketAddress remote) throws IOException {
        InetAddress host = remote.getAddress();
        ensureFamily(host);
        if (host.equals(LOOPBACK)) {
            return host;
        }
        try (DatagramChannel probe = DatagramChannel.open()) {
            return sourceOf(remote, probe);
        }
    }

    private static InetAddress sourceOf(InetSocketAddress remote, DatagramChannel probe) throws IOException {
        try {
            int port = remote.getPort() == 0 ? 1 : remote.getPort();
            probe.connect(new InetSocketAddress(remote.getAddress(), port));
        } catch (SocketException e) {
            throw (SocketException) new ConnectException("Network is unreachable: " + remote).initCause(e);
        }
        return ((InetSocketAddress) probe.getLocalAddress()).getAddress();
    }

    /** Whether an address is this host's own: connections to such come from the same. False without a route. */
    public static boolean endsHere(InetSocketAddress remote) {
        try {
            return remote.getAddress().isLoopbackAddress() || sourceOf(remote).equals(remote.getAddress());
        } catch (IOException e) {
            return false;
        }
    }
}
