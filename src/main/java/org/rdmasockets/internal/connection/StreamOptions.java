package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.SocketOption;
import java.util.Arrays;
import org.rdmasockets.internal.rsockets.ConnectData;
import org.rdmasockets.internal.rsockets.FlowKind;
import org.rdmasockets.internal.rsockets.StreamSettings;
import org.rdmasockets.verbs.ConnectionParameters;

/**
 * The options that can be set before a connection is made: a number for each {@link Option}, how the stream is to be
 * carried, and whether an idle connection is probed. Immutable. Sizes are wishes: they are brought into the range that
 * protocol and device allow.
 */
public final class StreamOptions implements Protocol.Maker<StreamTransport> {

    /** The options that a socket starts with, from the system properties. */
    public static final StreamOptions DEFAULT = new StreamOptions(Option.initial(),
            Property.choice("streamKind", FlowKind.CREDIT_RING), false);

    private final int[] numbers;
    private final FlowKind flow;
    private final boolean keepAlive;

    /** One number: the property that a socket starts with, the value without it, and the range. */
    public enum Option {
        /** Most bytes that the peer may send ahead; a connection begins with less, and gets so much while busy. */
        RECEIVE_BUFFER_BYTES("receiveBuffer", StreamSettings.DEFAULT_BUFFER_BYTES, 4096, 1 << 28),
        /** Most bytes of the send ring, likewise. */
        SEND_BUFFER_BYTES("sendBuffer", StreamSettings.DEFAULT_BUFFER_BYTES, 4096, 1 << 28),
        /** Most outstanding send requests. */
        SEND_QUEUE("sendQueue", StreamSettings.DEFAULT_SENDS, StreamSettings.MIN_QUEUE, StreamSettings.MAX_QUEUE),
        /** Most posted receives. */
        RECEIVE_QUEUE("receiveQueue", StreamSettings.DEFAULT_RECEIVES, 32, StreamSettings.MAX_QUEUE),
        /** Largest message that is copied into its request, in bytes. */
        INLINE_BYTES("inline", 64, 0, 4096),
        /** Most pieces of memory that the peer may map, a number that {@link StreamSettings#possibleMaps} gives. */
        MAPS(null, 0, 0, StreamSettings.MAX_MAPS),
        /** Most bytes of a message, where the stream goes by messages. */
        MESSAGE_BYTES("messageBytes", StreamSettings.DEFAULT_MESSAGE_BYTES, 64, StreamSettings.MAX_MESSAGE_BYTES),
        /** The octet of RFC 2474 for the packets of the end that connects, 0 for the connection manager's default. */
        TRAFFIC_CLASS(null, 0, 0, 255),
        /** Longest time that a caller looks for data itself before it parks, in microseconds. */
        SPIN_MICROS("spinMicros", 50, 0, 1000),
        /** Seconds of silence before the first probe. */
        KEEP_ALIVE_IDLE_SECONDS("keepAliveIdle", 7200, 1, TransportSettings.DAY_SECONDS),
        /** Seconds that one try of the probe may take. */
        KEEP_ALIVE_INTERVAL_SECONDS("keepAliveProbe", 30, 1, TransportSettings.DAY_SECONDS),
        /** Tries of the probe; the device makes them, so only the product with the interval counts. */
        KEEP_ALIVE_COUNT(null, 1, 1, 127);

        /** The system property without its prefix, null for none. */
        private final String property;
        private final int otherwise;
        private final int least;
        private final int most;

        Option(String property, int otherwise, int least, int most) {
            this.property = property;
            this.otherwise = otherwise;
            this.least = least;
            this.most = most;
        }

        /** The smallest value. */
        public int least() {
            return least;
        }

        /** The largest value. */
        public int most() {
            return most;
        }

        /** The value for a socket's option of this kind; throws {@code IllegalArgumentException} if out of range. */
        public int checked(SocketOption<Integer> name, int value) {
            if (value < least || value > most) {
                throw new IllegalArgumentException("Invalid " + name + " value " + value + ": " + least + " to " + most
                        + " is possible");
            }
            return value;
        }

        private static int[] initial() {
            Option[] all = values();
            int[] numbers = new int[all.length];
            for (Option each : all) {
                numbers[each.ordinal()] = each.property == null ? each.otherwise
                        : Property.number(each.property, each.otherwise, each.least, each.most);
            }
            return numbers;
        }
    }

    private StreamOptions(int[] numbers, FlowKind flow, boolean keepAlive) {
        this.numbers = numbers;
        this.flow = flow;
        this.keepAlive = keepAlive;
    }

    /** The value of an option. */
    public int get(Option option) {
        return numbers[option.ordinal()];
    }

    /** The same with another value of an option; one out of range becomes the nearest that is in range. */
    public StreamOptions with(Option option, int value) {
        int nearest = Math.clamp(value, option.least, option.most);
        int possible = option == Option.MAPS ? StreamSettings.possibleMaps(nearest) : nearest;
        if (possible == get(option)) {
            return this;
        }
        int[] changed = numbers.clone();
        changed[option.ordinal()] = possible;
        return new StreamOptions(changed, flow, keepAlive);
    }

    /** Whether an idle connection is probed. */
    public boolean keepAlive() {
        return keepAlive;
    }

    /** The same with or without probes. */
    public StreamOptions withKeepAlive(boolean on) {
        return on == keepAlive ? this : new StreamOptions(numbers, flow, on);
    }

    /** Seconds until an unanswered probe breaks the connection. */
    public int keepAliveProbeSeconds() {
        return get(Option.KEEP_ALIVE_INTERVAL_SECONDS) * get(Option.KEEP_ALIVE_COUNT);
    }

    /** How a stream is to be carried, as proposed when connecting: the name of a {@link FlowKind}. */
    public String streamKind() {
        return flow.name();
    }

    /** The same for a stream that is carried otherwise; throws {@code IllegalArgumentException} if none is. */
    public StreamOptions withStreamKind(String kind) {
        return withFlow(FlowKind.named(kind));
    }

    FlowKind flow() {
        return flow;
    }

    /** The same for another flow, which is proposed, or agreed to. */
    StreamOptions withFlow(FlowKind other) {
        return other == flow ? this : new StreamOptions(numbers, other, keepAlive);
    }

    @Override
    public int trafficClass() {
        return get(Option.TRAFFIC_CLASS);
    }

    @Override
    public StreamTransport make(VerbsConnection connection, ConnectionParameters asked) throws IOException {
        if (asked == null) {
            return new StreamTransport(connection, this, null);
        }
        ConnectData peer = ConnectData.decode(asked.privateData());
        return new StreamTransport(connection, withFlow(agree(peer.flow(), asked)), peer);
    }

    /**
     * The proposed flow if this end would propose it, too, else the credit ring; so the peer does not decide how much
     * memory this end takes.
     */
    private FlowKind agree(FlowKind proposed, ConnectionParameters asked) {
        boolean possible = proposed != FlowKind.READ_RING
                || asked.responderResources() > 0 && asked.initiatorDepth() > 0;
        return proposed == flow && possible ? proposed : FlowKind.CREDIT_RING;
    }

    @Override
    public boolean equals(Object object) {
        return this == object || object instanceof StreamOptions other && flow == other.flow
                && keepAlive == other.keepAlive && Arrays.equals(numbers, other.numbers);
    }

    @Override
    public int hashCode() {
        return (Arrays.hashCode(numbers) * 31 + flow.ordinal()) * 31 + (keepAlive ? 1 : 0);
    }
}
