package org.rdmasockets.rpc;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.SocketAddress;

/**
 * Makes the sockets that sessions go over.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface RpcDatagrams {
    /**
     * Makes a socket, which the library closes.
     *
     * @param local where to bind it
     * @return the socket
     * @throws IOException if that cannot be had
     */
    DatagramSocket bind(SocketAddress local) throws IOException;
}
