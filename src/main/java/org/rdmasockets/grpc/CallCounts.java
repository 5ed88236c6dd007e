package org.rdmasockets.grpc;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** How many calls a channel or a server has had, for channelz. Any thread. */
final class CallCounts {
    private final LongAdder started = new LongAdder();
    private final LongAdder succeeded = new LongAdder();
    private final LongAdder failed = new LongAdder();
    /** Racy, but benign: of calls that start at once any may be the last. */
    private volatile long lastMillis;

    /** A call starts. */
    void starts() {
        started.increment();
        long now = System.currentTimeMillis();
        if (now != lastMillis) {
            lastMillis = now;
        }
    }

    /** A call that has started ends. */
    void ends(boolean well) {
        (well ? succeeded : failed).increment();
    }

    long started() {
        return started.sum();
    }

    long succeeded() {
        return succeeded.sum();
    }

    long failed() {
        return failed.sum();
    }

    /** When the last call started, since 1970; 0 without one. */
    long lastNanos() {
        return TimeUnit.MILLISECONDS.toNanos(lastMillis);
    }
}
