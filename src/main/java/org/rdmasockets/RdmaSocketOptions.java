package org.rdmasockets;

import java.net.SocketOption;

/**
 * Socket options of RDMA sockets beside {@link java.net.StandardSocketOptions}, named as in {@code rsocket(7)}. They
 * shape what is made for a connection, so they can be set only until it is made: a socket that is connected refuses
 * them with a {@code SocketException}; a server socket uses them for connections that come from then on.
 */
public final class RdmaSocketOptions {
    /**
     * Most outstanding send requests of a connection, 16 to 65534. A write takes at least one; a deep queue costs
     * memory of device and kernel.
     */
    public static final SocketOption<Integer> RDMA_SQSIZE = new Name("RDMA_SQSIZE");

    /**
     * Most posted receives of a connection, 32 to 65534: how many messages the peer may send before they are
     * processed here.
     */
    public static final SocketOption<Integer> RDMA_RQSIZE = new Name("RDMA_RQSIZE");

    /**
     * Largest message in bytes that is copied into its send request instead of being fetched by the device, 0 to 4096;
     * a device grants what it can.
     */
    public static final SocketOption<Integer> RDMA_INLINE = new Name("RDMA_INLINE");

    private RdmaSocketOptions() {
    }

    /** An option with a whole number as value. */
    private record Name(String name) implements SocketOption<Integer> {
        @Override
        public Class<Integer> type() {
            return Integer.class;
        }

        @Override
        public String toString() {
            return name;
        }
    }
}
