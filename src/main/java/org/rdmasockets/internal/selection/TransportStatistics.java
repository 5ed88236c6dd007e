package org.rdmasockets.internal.selection;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Counts what became of the connections over one transport, since the process began. Any thread may count and read. */
public final class TransportStatistics {
    private static final Map<String, TransportStatistics> ALL = new ConcurrentHashMap<>();

    final AtomicLong connected = new AtomicLong();
    final AtomicLong accepted = new AtomicLong();
    /** Attempts to connect that failed. */
    final AtomicLong failed = new AtomicLong();
    /** Connects that did not try this transport. */
    final AtomicLong passedOver = new AtomicLong();

    private TransportStatistics() {}

    /** The tally of a transport. */
    public static TransportStatistics of(String transport) {
        TransportStatistics tally = ALL.get(transport);
        if (tally == null) {
            ALL.putIfAbsent(transport, new TransportStatistics());
            tally = ALL.get(transport);
        }
        return tally;
    }

    /** Connections made by connecting. */
    public long connected() {
        return connected.get();
    }

    /** Connections made by accepting. */
    public long accepted() {
        return accepted.get();
    }

    /** Attempts to connect that failed. */
    public long failed() {
        return failed.get();
    }

    /** Connects for which this transport was not tried, because it could not have led to the peer. */
    public long passedOver() {
        return passedOver.get();
    }
}
