package org.rdmasockets.internal.connection;

import java.io.IOException;
import org.rdmasockets.internal.rsockets.ConnectData;
import org.rdmasockets.internal.rsockets.FlowKind;
import org.rdmasockets.internal.rsockets.StreamSettings;
import org.rdmasockets.verbs.ConnectionParameters;

/**
 * The options that can be set before a connection is made; an immutable snapshot. Sizes are wishes: they are brought
 * into the range that protocol and device allow.
 *
 * @param receiveBufferBytes most bytes that the peer may send ahead, which it fills in two halves; at least 4096. A
 *        connection begins with less and gets so much while it is busy
 * @param sendBufferBytes most bytes of the send ring, likewise; at least 4096
 * @param sendQueueSize most outstanding send requests, 16 to 65534
 * @param receiveQueueSize most posted receives, 32 to 65534
 * @param inlineBytes largest message that is copied into its request, 0 for none
 * @param maps how many pieces of memory the peer may map for this end, a number that {@link #possibleMaps} gives
 * @param streamKind how a stream is to be carried, as proposed when connecting: the name of a {@link FlowKind}
 * @param messageBytes most bytes of a message, where the stream goes by messages, 64 to {@link #MAX_MESSAGE_BYTES}
 * @param trafficClass the octet of RFC 2474 for the packets of the end that connects, 0 for the connection manager's
 *         default
 * @param spinMicros longest time that a caller looks for data before it parks, 0 to {@link #MAX_SPIN_MICROS}
 * @param keepAlive whether an idle connection is probed
 * @param keepAliveIdleSeconds seconds of silence before the first probe, at least 1
 * @param keepAliveProbeSeconds seconds until an unanswered probe breaks the connection, at least 1
 */
public record StreamOptions(int receiveBufferBytes, int sendBufferBytes, int sendQueueSize, int receiveQueueSize,
        int inlineBytes, int maps, String streamKind, int messageBytes, int trafficClass, int spinMicros,
        boolean keepAlive, int keepAliveIdleSeconds, int keepAliveProbeSeconds)
        implements Protocol.Maker<StreamTransport> {
    /** Smallest size of a ring, in bytes. */
    public static final int MIN_BUFFER_BYTES = 4096;
    /** Largest size of a ring, in bytes. */
    public static final int MAX_BUFFER_BYTES = 1 << 28;
    /** Most requests of a queue: credits are 16-bit numbers. */
    public static final int MAX_QUEUE_SIZE = 65534;
    /** Smallest send queue that the protocol works with. */
    public static final int MIN_SEND_QUEUE_SIZE = 16;
    /** Smallest receive queue that the protocol works with. */
    public static final int MIN_RECEIVE_QUEUE_SIZE = 32;
    /** Most maps: the largest number that the protocol has. */
    public static final int MAX_MAPS = StreamSettings.MAX_MAPS;
    /** Shortest limit for a message, in bytes. */
    public static final int MIN_MESSAGE_BYTES = 64;
    /** Longest message, in bytes. */
    public static final int MAX_MESSAGE_BYTES = StreamSettings.MAX_MESSAGE_BYTES;
    /** Longest time that a caller may look for data itself, in microseconds. */
    public static final int MAX_SPIN_MICROS = 1000;

    /** The options that a socket starts with, from the system properties described at {@link TransportSettings}. */
    public static final StreamOptions DEFAULT = TransportSettings.streamOptions();

    /** Brings every size into its range. */
    public StreamOptions {
        receiveBufferBytes = evenPages(receiveBufferBytes);
        sendBufferBytes = evenPages(sendBufferBytes);
        sendQueueSize = Math.clamp(sendQueueSize, MIN_SEND_QUEUE_SIZE, MAX_QUEUE_SIZE);
        receiveQueueSize = Math.clamp(receiveQueueSize, MIN_RECEIVE_QUEUE_SIZE, MAX_QUEUE_SIZE);
        inlineBytes = Math.max(0, inlineBytes);
        maps = possibleMaps(maps);
        FlowKind.named(streamKind);
        messageBytes = Math.clamp(messageBytes, MIN_MESSAGE_BYTES, MAX_MESSAGE_BYTES);
        spinMicros = Math.clamp(spinMicros, 0, MAX_SPIN_MICROS);
        keepAliveIdleSeconds = Math.max(1, keepAliveIdleSeconds);
        keepAliveProbeSeconds = Math.max(1, keepAliveProbeSeconds);
    }

    /** Rounds up to a multiple of 16 within the range: both halves of a ring must be aligned and equal. */
    private static int evenPages(int bytes) {
        return Math.clamp(bytes, MIN_BUFFER_BYTES, MAX_BUFFER_BYTES) + 15 & -16;
    }

    FlowKind flow() {
        return FlowKind.named(streamKind);
    }

    /** The same for another flow, which is proposed, or agreed to. */
    StreamOptions withFlow(FlowKind other) {
        return other == flow() ? this : new StreamOptions(receiveBufferBytes, sendBufferBytes, sendQueueSize,
                receiveQueueSize, inlineBytes, maps, other.name(), messageBytes, trafficClass, spinMicros, keepAlive,
                keepAliveIdleSeconds, keepAliveProbeSeconds);
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
        return proposed == flow() && possible ? proposed : FlowKind.CREDIT_RING;
    }

    /** The nearest smaller number of maps that the protocol has. */
    public static int possibleMaps(int wanted) {
        return StreamSettings.possibleMaps(wanted);
    }
}
