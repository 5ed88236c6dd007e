package org.rdmasockets;

import java.util.Map;
import org.rdmasockets.internal.connection.TransportStatistics;
import org.rdmasockets.internal.lock.Losses;
import org.rdmasockets.internal.lock.Rescues;

/**
 * The connections over one transport: counts since the process began, and their use of memory and queue pairs now; a
 * snapshot. Counts only grow; {@link #open}, {@link #queuePairs} and {@link #registeredBytes} go up and down. The same
 * numbers are attributes of an MXBean, see {@link TransportsMXBean}, and meters of Micrometer, see
 * {@link org.rdmasockets.micrometer}. Any thread may ask.
 *
 * @param connected connections of sockets made by connecting
 * @param accepted connections of sockets made by accepting
 * @param failed attempts to connect that failed; in {@code auto} the next transport was tried then
 * @param passedOver connects in {@code auto} for which this transport was not tried, because it could not have led to
 *        the peer
 * @param failures failures by cause: attempts to connect, and connections over RDMA or shared memory that broke. The
 *        causes are {@code refused}, {@code timeout}, {@code unreachable}, {@code address} (the local one cannot be
 *        had), {@code cancelled} (by a close or an interrupt), {@code reset}, {@code violation} (the peer broke the
 *        protocol) and {@code other}; a cause that has not come is left out
 * @param open connections that there are now, of sockets and of endpoints, those too that still deliver after a close
 * @param queuePairs queue pairs that there are now, those for datagrams, too; 0 over TCP
 * @param registeredBytes memory that is registered now, in bytes: pinned if the transport uses a device, shared between
 *        processes over shared memory; 0 over TCP
 * @param receivedBytes bytes that sockets have read; those of endpoints and datagrams are not counted
 * @param sentBytes bytes that sockets have written, likewise
 * @param pollerWakeUps how often the thread that waits for completions was awake; 0 over TCP
 * @param spinsInVain how often a waiting thread has spun without what it waited for, and then parked
 * @param nanosSpunInVain how long these spins took together, in nanoseconds
 * @since 0.1
 */
public record TransportCounters(long connected, long accepted, long failed, long passedOver,
        Map<String, Long> failures, long open, long queuePairs, long registeredBytes, long receivedBytes,
        long sentBytes, long pollerWakeUps, long spinsInVain, long nanosSpunInVain) {
    /**
     * The counters of a transport.
     *
     * @param transport such as {@link Transport#TCP}
     * @return its counters as they are now
     */
    public static TransportCounters of(Transport transport) {
        TransportStatistics now = TransportStatistics.of(transport.name());
        return new TransportCounters(now.connected(), now.accepted(), now.failed(), now.passedOver(), now.failures(),
                now.open(), now.queuePairs(), now.registeredBytes(), now.receivedBytes(), now.sentBytes(),
                now.pollerWakeUps(), now.spinsInVain(), now.nanosSpunInVain());
    }

    /**
     * Connections that went over TCP in {@code auto}, where another transport would have come first. Any thread may
     * call.
     *
     * @return their number since the process began
     */
    public static long fallbacks() {
        return TransportStatistics.fallbacks();
    }

    /**
     * Rescues of this process: how often a timer found something that a wake-up should have told. Each one is a fault
     * of this library that cost a delay; the first is also written to the log, as a warning. Any thread may call.
     *
     * @return their number since the process began, of all transports together
     */
    public static long rescues() {
        return Rescues.count();
    }

    /**
     * Datagrams that were dropped for lack of room, at this process's sockets or on their way to another process of
     * this host. The kernel drops datagrams of UDP, and counts them itself. Any thread may call.
     *
     * @return their number since the process began
     */
    public static long lostDatagrams() {
        return Losses.datagrams();
    }

    /**
     * Packets of sessions of calls that counted as lost and were sent again. Any thread may call.
     *
     * @return their number since the process began
     */
    public static long lostPackets() {
        return Losses.packets();
    }
}
