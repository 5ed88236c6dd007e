package org.rdmasockets.internal.connection;

import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.rsockets.FlowKind;
import org.rdmasockets.internal.rsockets.StreamSettings;

/**
 * The settings of this floor, read once from system properties. A value out of range is ignored with a warning.
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
    private static final int DEFAULT_BUFFER_BYTES = 128 << 10;
    private static final int DAY_SECONDS = 86_400;

    /** The values of the properties. */
    static final TransportSettings CURRENT = read();

    private static TransportSettings read() {
        return new TransportSettings(millis("connectTimeout", 60 * SECOND_MILLIS),
                millis("unacknowledgedTimeout", 30 * SECOND_MILLIS),
                millis("linger", 10 * SECOND_MILLIS),
                millis("exitWait", 2 * SECOND_MILLIS),
                Property.flag("numa"));
    }

    static StreamOptions streamOptions() {
        return new StreamOptions(
                Property.number("receiveBuffer", DEFAULT_BUFFER_BYTES, StreamOptions.MIN_BUFFER_BYTES,
                        StreamOptions.MAX_BUFFER_BYTES),
                Property.number("sendBuffer", DEFAULT_BUFFER_BYTES, StreamOptions.MIN_BUFFER_BYTES,
                        StreamOptions.MAX_BUFFER_BYTES),
                Property.number("sendQueue", 64, StreamOptions.MIN_SEND_QUEUE_SIZE, StreamOptions.MAX_QUEUE_SIZE),
                Property.number("receiveQueue", 128, StreamOptions.MIN_RECEIVE_QUEUE_SIZE,
                        StreamOptions.MAX_QUEUE_SIZE),
                Property.number("inline", 64, 0, 4096), 0,
                Property.choice("streamKind", FlowKind.CREDIT_RING).name(),
                Property.number("messageBytes", StreamSettings.DEFAULT_MESSAGE_BYTES, StreamOptions.MIN_MESSAGE_BYTES,
                        StreamOptions.MAX_MESSAGE_BYTES), 0,
                Property.number("spinMicros", 50, 0, StreamOptions.MAX_SPIN_MICROS), false,
                Property.number("keepAliveIdle", 7200, 1, DAY_SECONDS),
                Property.number("keepAliveProbe", 30, 1, DAY_SECONDS));
    }

    private static long millis(String name, int otherwise) {
        return TimeUnit.MILLISECONDS.toNanos(Property.number(name, otherwise, 1, DAY_SECONDS * SECOND_MILLIS));
    }
}
