package org.rdmasockets.internal.connection;

import java.util.concurrent.TimeUnit;

/**
 * The settings of this layer that are no options of a socket, read once from system properties. A value out of range is
 * ignored with a warning.
 *
 * @param connectTimeoutNanos end of a connect without a timeout of its own, in nanoseconds
 * @param unacknowledgedNanos how long a write may stay unacknowledged by the peer's device, in nanoseconds
 * @param lingerNanos how long a closed connection may take to deliver, in nanoseconds
 * @param exitNanos how long the end of the process waits for closed connections, in nanoseconds
 * @param numa whether the pollers stay on the processors near the devices
 */
record TransportSettings(long connectTimeoutNanos, long unacknowledgedNanos, long lingerNanos,
        long exitNanos, boolean numa) {
    private static final int SECOND_MILLIS = 1000;
    static final int DAY_SECONDS = 86_400;

    /** The values of the properties. */
    static final TransportSettings CURRENT = read();

    private static TransportSettings read() {
        return new TransportSettings(millis("connectTimeout", 60 * SECOND_MILLIS),
                millis("unacknowledgedTimeout", 30 * SECOND_MILLIS),
                millis("linger", 10 * SECOND_MILLIS),
                millis("exitWait", 2 * SECOND_MILLIS),
                Property.flag("numa"));
    }

    private static long millis(String name, int otherwise) {
        return TimeUnit.MILLISECONDS.toNanos(Property.number(name, otherwise, 1, DAY_SECONDS * SECOND_MILLIS));
    }
}
