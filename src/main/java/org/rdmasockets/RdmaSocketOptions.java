package org.rdmasockets;

import java.net.SocketOption;

/**
 * Socket options of RDMA sockets beside {@link java.net.StandardSocketOptions}. Those named as in {@code rsocket(7)}
 * shape what is made for a connection over RDMA, so they can be set only until it is made: a socket that is connected
 * refuses them with a {@code SocketException}; a server socket uses them for connections that come from then on.
 *
 * @since 0.1
 */
public final class RdmaSocketOptions {
    /**
     * The transport, and why it was chosen. It can be set until the socket is bound or connected, to one of the
     * constants of {@link Transport}, and comes before all settings then: with {@link Transport#IBVERBS} there is no
     * connection without an RDMA device. A connected socket tells what it goes over. A server socket tells what it
     * listens on.
     */
    public static final SocketOption<Transport> TRANSPORT = new Name<>("TRANSPORT", Transport.class);

    /**
     * Most outstanding send requests of a connection, 16 to 65534. A write takes at least one; a deep queue costs
     * memory of device and kernel.
     */
    public static final SocketOption<Integer> RDMA_SQSIZE = new Name<>("RDMA_SQSIZE", Integer.class);

    /**
     * Most posted receives of a connection, 32 to 65534: how many messages the peer may send before they are
     * processed here.
     */
    public static final SocketOption<Integer> RDMA_RQSIZE = new Name<>("RDMA_RQSIZE", Integer.class);

    /**
     * Largest message in bytes that is copied into its send request instead of being fetched by the device, 0 to 4096;
     * a device grants what it can.
     */
    public static final SocketOption<Integer> RDMA_INLINE = new Name<>("RDMA_INLINE", Integer.class);

    /**
     * How many pieces of memory the peer may map for this end to write to, see {@link RdmaSocket#map}, 0 to 32,512; 0
     * unless it is set. The protocol has the numbers up to 128 and multiples of 256, others are rounded down.
     */
    public static final SocketOption<Integer> RDMA_IOMAPSIZE = new Name<>("RDMA_IOMAPSIZE", Integer.class);

    /**
     * How the stream is carried over RDMA or shared memory. The end that connects proposes what is set here, and a
     * server socket agrees if the same is set there; otherwise, and with C programs, it is
     * {@link StreamKind#CREDIT_RING}, the default, which the setting {@code streamKind} changes. A connected socket
     * tells what was agreed on. A proposal that the peer declines keeps its memory. Over TCP it has no effect.
     */
    public static final SocketOption<StreamKind> STREAM_KIND = new Name<>("STREAM_KIND", StreamKind.class);

    /**
     * Most bytes of one message that this end takes, 64 to 16,777,216, where {@link #STREAM_KIND} is
     * {@link StreamKind#SEND_RECEIVE}; 4,096 unless the setting {@code messageBytes} says otherwise. How many messages
     * may be on their way is another matter: as many as fill {@code SO_RCVBUF}, at least ten, and at most
     * {@link #RDMA_RQSIZE} less sixteen, for which there is memory besides.
     */
    public static final SocketOption<Integer> MESSAGE_BYTES = new Name<>("MESSAGE_BYTES", Integer.class);

    /**
     * Longest time in microseconds that a thread which waits for a connection over RDMA or shared memory, or for
     * datagrams over shared memory, looks for data itself before it parks, 0 to 1,000; it can be set at any time, and
     * holds from the next wait on. The default is that of the setting {@code spinMicros}, 50. At any value, a thread
     * parks at once while looking has not paid on this connection or socket lately (it pays if answers come within half
     * of that time on average), or while it would keep a processor or a carrier from another thread. Now and then,
     * after short waits that were parked, it looks for up to eighty times as long, 4 ms at most, to find a peer that
     * has parked likewise, or one that has lost its processor for a moment.
     *
     * <ul>
     * <li>0 saves processor time: each wait parks, and costs the wake-up of a thread or two.
     * <li>50 is for latency where the answer is near: about the time of a wake-up is lost, at most, per wait.
     * <li>1,000 is for latency where the peer computes for a while, too: up to two processors are busy per connection.
     * </ul>
     */
    public static final SocketOption<Integer> SPIN_MICROS = new Name<>("SPIN_MICROS", Integer.class);

    private RdmaSocketOptions() {}

    /** An option of ours. Copies of this class, such as the agent's and the application's, name the same options. */
    private record Name<T>(String name, Class<T> type) implements SocketOption<T> {
        @Override
        public boolean equals(Object other) {
            return other instanceof SocketOption<?> option && option.name().equals(name)
                    && option.getClass().getName().equals(Name.class.getName());
        }

        @Override
        public int hashCode() {
            return name.hashCode();
        }

        @Override
        public String toString() {
            return name;
        }
    }
}
