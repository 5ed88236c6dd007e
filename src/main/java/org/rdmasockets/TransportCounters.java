package org.rdmasockets;

import org.rdmasockets.internal.selection.TransportStatistics;
import org.rdmasockets.internal.lock.Rescues;

/**
 * The outcomes of the connections over one transport since the process began; a snapshot.
 *
 * @param connected connections made by connecting
 * @param accepted connections made by accepting
 * @param failed attempts to connect that failed; in {@code auto} the next transport was tried then
 * @param passedOver connects in {@code auto} for which this transport was not tried, because it could not have led to
 *        the peer
 */
public record TransportCounters(long connected, long accepted, long failed, long passedOver) {
    /**
     * The counters of a transport.
     *
     * @param transport such as {@link Transport#TCP}
     * @return its counters as they are now
     */
    public static TransportCounters of(Transport transport) {
        TransportStatistics tally = TransportStatistics.of(transport.name());
        return new TransportCounters(tally.connected(), tally.accepted(), tally.failed(), tally.passedOver());
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
}
