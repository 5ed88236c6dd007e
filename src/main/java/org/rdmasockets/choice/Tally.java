package org.rdmasockets.choice;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counts what became of the connections over one transport, since the process began. Any thread may count and read. */
public final class Tally {
    private static final Map<String, Tally> ALL = new ConcurrentHashMap<>();

    private final LongAdder connected = new LongAdder();
    private final LongAdder accepted = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder passedOver = new LongAdder();

    private Tally() {}

    /** The tally of a transport. */
    public static Tally of(String transport) {
        Tally tally = ALL.get(transport);
        if (tally == null) {
            ALL.putIfAbsent(transport, new Tally());
            tally = ALL.get(transport);
        }
        return tally;
    }

    /** A connect succeeded. */
    void countConnected() {
        connected.increment();
    }

    /** A connection was accepted. */
    void countAccepted() {
        accepted.increment();
    }

    /** A connect failed. */
    void countFailed() {
        failed.increment();
    }

    /** A connect did not try this transport. */
    void countPassedOver() {
        passedOver.increment();
    }

    /** Connections made by connecting. */
    public long connected() {
        return connected.sum();
    }

    /** Connections made by accepting. */
    public long accepted() {
        return accepted.sum();
    }

    /** Attempts to connect that failed. */
    public long failed() {
        return failed.sum();
    }

    /** Connects for which this transport was not tried, because it could not have led to the peer. */
    public long passedOver() {
        return passedOver.sum();
    }
}
