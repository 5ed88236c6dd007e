package org.rdmasockets.transport;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.channels.DatagramChannel;

/** What the routing table says, without a packet. Any thread may ask; an answer takes some ten microseconds. */
public final class Routes {
    private Routes() {
    }

    /**
     * The local address that a connection to somebody would have: a connected UDP socket knows it and sends nothing.
     *
     * @param remote whom to reach, resolved
     * @return an address of this host
     * @throws IOException {@code ConnectException} if there is no route
     */
    public static InetAddress sourceOf(InetSocketAddress remote) throws IOException {
        try (DatagramChannel probe = DatagramChannel.open()) {
            int port = remote.getPort() == 0 ? 1 : remote.getPort();
            probe.connect(new InetSocketAddress(remote.getAddress(), port));
            return ((InetSocketAddress) probe.getLocalAddress()).getAddress();
        } catch (SocketException e) {
            throw (SocketException) new ConnectException("Network is unreachable: " + remote).initCause(e);
        }
    }

    /**
     * Tells whether an address is this host's own: connections to such come from the same address.
     *
     * @param remote whom to reach, resolved
     * @return true if it is; false also if there is no route
     */
    public static boolean endsHere(InetSocketAddress remote) {
        try {
            return remote.getAddress().isLoopbackAddress() || sourceOf(remote).equals(remote.getAddress());
        } catch (IOException e) {
            return false;
        }
    }
}
