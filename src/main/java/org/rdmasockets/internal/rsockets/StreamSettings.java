package org.rdmasockets.internal.rsockets;

import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.Device;

/**
 * Sizes of a connection and what its device can do.
 *
 * @param immediateData true for InfiniBand and RoCE: a write carries its message; false for iWARP: a send follows it
 * @param emptyReceive true if receives need no memory; meant for {@code immediateData} only
 * @param receiverNotReadyRetry whether a message without a posted receive is tried again; else it breaks the connection
 * @param copiesAtPost true if the device copies what is posted: there is no send ring then
 * @param maxSends depth of the send queue, {@link #MIN_QUEUE} to {@link #MAX_QUEUE}
 * @param maxReceives depth of the receive queue, {@link #MIN_QUEUE} to {@link #MAX_QUEUE}
 * @param sendBufferBytes most bytes of the send ring, {@link #MIN_BUFFER_BYTES} to {@link #MAX_BUFFER_BYTES}
 * @param receiveBufferBytes most bytes that are lent to the peer, even, {@link #MIN_BUFFER_BYTES} to
 *        {@link #MAX_BUFFER_BYTES}; the peer is lent two halves
 * @param firstSendBytes size of the send ring of an idle connection, 1 to {@code sendBufferBytes}
 * @param firstChunkBytes size of the two chunks that an idle peer is lent, 1 to half of {@code receiveBufferBytes}
 * @param maxWriteBytes most bytes of one write, 1 to 2^29 - 1
 * @param maps how many pieces of memory the peer may map for this end, a number that {@link #possibleMaps} gives
 * @param flow the kind that is proposed to the peer, or was agreed to
 * @param messageBytes most bytes of a message for {@link FlowKind#SEND_RECEIVE}, 1 to {@link #MAX_MESSAGE_BYTES}
 */
public record StreamSettings(boolean immediateData, boolean emptyReceive, boolean receiverNotReadyRetry,
        boolean copiesAtPost, int maxSends, int maxReceives, int sendBufferBytes, int receiveBufferBytes,
        int firstSendBytes, int firstChunkBytes, int maxWriteBytes, int maps, FlowKind flow, int messageBytes) {
    /** Least depth of a queue, as in C. */
    public static final int MIN_QUEUE = 16;
    /** Greatest depth of a queue: credits are 16 bits wide on the wire. */
    public static final int MAX_QUEUE = 65534;
    /** Least size of a ring in bytes. */
    public static final int MIN_BUFFER_BYTES = 1024;
    /** Greatest size of a ring in bytes. */
    public static final int MAX_BUFFER_BYTES = 1 << 30;
    /** Most maps: that is the largest number that the wire has for them. */
    public static final int MAX_MAPS = 32_512;
    /** Depth of the send queue unless the application says otherwise; it is not visible to the peer. */
    public static final int DEFAULT_SENDS = 64;
    /** Depth of the receive queue unless the application says otherwise. */
    public static final int DEFAULT_RECEIVES = 128;
    /** Greatest size of either ring in bytes unless the application says otherwise, as in C. */
    public static final int DEFAULT_BUFFER_BYTES = 128 * 1024;

    /** Most bytes of a message for {@link FlowKind#SEND_RECEIVE}. */
    public static final int MAX_MESSAGE_BYTES = 1 << 24;
    /** Most bytes of a message unless the application says otherwise. */
    public static final int DEFAULT_MESSAGE_BYTES = 4096;

    /** A header, and a payload that wraps in the send ring. */
    static final int MOST_SEND_ELEMENTS = 3;

    /** With the table, two of them fill 24 KiB. */
    private static final int FIRST_CHUNK_BYTES = 12_224;
    /** With the messages of the default queues, that fills 8 KiB. */
    private static final int FIRST_SEND_BYTES = 7 * 1024;
    /** Largest write on devices that do the transfer inside the post: more would hold the caller for milliseconds. */
    private static final int SOFTWARE_WRITE_BYTES = 64 * 1024;
    /** Receives that the peer gets no credit for, so that its control messages always find one. */
    private static final int CONTROL_RECEIVES = 16;
    /** Fewer messages on their way than these would make each wait for the one before. */
    private static final int LEAST_MESSAGES = 4;
    /** Ring sizes chosen by {@link #withBuffers} are multiples of this, so that both halves begin on a cache line. */
    private static final int BUFFER_STEP = 128;

    /** Checks the sizes. */
    public StreamSettings {
        check("maxSends", maxSends, MIN_QUEUE, MAX_QUEUE);
        check("maxReceives", maxReceives, MIN_QUEUE, MAX_QUEUE);
        check("sendBufferBytes", sendBufferBytes, MIN_BUFFER_BYTES, MAX_BUFFER_BYTES);
        check("receiveBufferBytes", receiveBufferBytes, MIN_BUFFER_BYTES, MAX_BUFFER_BYTES);
        check("firstSendBytes", firstSendBytes, 1, sendBufferBytes);
        check("firstChunkBytes", firstChunkBytes, 1, receiveBufferBytes / 2);
        check("maxWriteBytes", maxWriteBytes, 1, ImmediateData.MAX_ARGUMENT);
        check("messageBytes", messageBytes, 1, MAX_MESSAGE_BYTES);
        if (maps != possibleMaps(maps)) {
            throw new IllegalArgumentException(maps + " maps cannot be told to the peer");
        }
        if (receiveBufferBytes % 2 != 0) {
            throw new IllegalArgumentException("receiveBufferBytes must be even: " + receiveBufferBytes);
        }
    }

    // By hand, because what the compiler makes spins classes in a JVM that starts.
    @Override
    public boolean equals(Object other) {
        return this == other || other instanceof StreamSettings that && immediateData == that.immediateData
                && emptyReceive == that.emptyReceive && receiverNotReadyRetry == that.receiverNotReadyRetry
                && copiesAtPost == that.copiesAtPost && maxSends == that.maxSends && maxReceives == that.maxReceives
                && sendBufferBytes == that.sendBufferBytes && receiveBufferBytes == that.receiveBufferBytes
                && firstSendBytes == that.firstSendBytes && firstChunkBytes == that.firstChunkBytes
                && maxWriteBytes == that.maxWriteBytes && maps == that.maps && flow == that.flow
                && messageBytes == that.messageBytes;
    }

    @Override
    public int hashCode() {
        int capabilities = (immediateData ? 1 : 0) | (emptyReceive ? 2 : 0) | (receiverNotReadyRetry ? 4 : 0)
                | (copiesAtPost ? 8 : 0) | flow.ordinal() << 4;
        int queues = (maxSends * 31 + maxReceives) * 31 + maps;
        int buffers = ((sendBufferBytes * 31 + receiveBufferBytes) * 31 + firstSendBytes) * 31 + firstChunkBytes;
        return ((capabilities * 31 + queues) * 31 + buffers) * 31 + maxWriteBytes * 31 + messageBytes;
    }

    private static void check(String name, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(name + " must be " + least + " to " + most + ": " + value);
        }
    }

    /** The defaults for a device whose port can send so much at once. */
    public static StreamSettings forDevice(Device device, long maxMessageBytes) {
        long mostBytes = device.supports(Capability.SOFTWARE_TRANSFER) ? SOFTWARE_WRITE_BYTES : maxMessageBytes;
        return new StreamSettings(device.supports(Capability.IMMEDIATE_DATA), device.supports(Capability.EMPTY_RECEIVE),
                device.supports(Capability.RECEIVER_NOT_READY_RETRY), device.supports(Capability.COPIES_AT_POST),
                DEFAULT_SENDS, DEFAULT_RECEIVES,
                DEFAULT_BUFFER_BYTES, DEFAULT_BUFFER_BYTES, FIRST_SEND_BYTES, FIRST_CHUNK_BYTES,
                Math.clamp(mostBytes, 1, ImmediateData.MAX_ARGUMENT), 0, FlowKind.CREDIT_RING, DEFAULT_MESSAGE_BYTES);
    }

    /** The same with queues of other depths; values out of range become the nearest that is in range. */
    public StreamSettings withQueues(int sends, int receives) {
        return new StreamSettings(immediateData, emptyReceive, receiverNotReadyRetry, copiesAtPost,
                Math.clamp(sends, MIN_QUEUE, MAX_QUEUE), Math.clamp(receives, MIN_QUEUE, MAX_QUEUE), sendBufferBytes,
                receiveBufferBytes, firstSendBytes, firstChunkBytes, maxWriteBytes, maps, flow, messageBytes);
    }

    /**
     * The same for another flow, proposed or agreed to; call it last, for it goes by queues and buffers.
     * {@link FlowKind#READ_RING} has its whole ring from the beginning, {@link FlowKind#SEND_RECEIVE} as many receives
     * as hold what may be lent to the peer. The message size becomes the nearest that is possible.
     */
    public StreamSettings withFlow(FlowKind newFlow, int newMessageBytes) {
        int message = Math.clamp(newMessageBytes, 1, MAX_MESSAGE_BYTES);
        boolean messages = newFlow == FlowKind.SEND_RECEIVE;
        int receives = Math.clamp(receiveBufferBytes / message, LEAST_MESSAGES, maxReceives) + CONTROL_RECEIVES;
        return new StreamSettings(immediateData, emptyReceive, receiverNotReadyRetry, copiesAtPost, maxSends,
                messages ? Math.min(receives, maxReceives) : maxReceives, sendBufferBytes, receiveBufferBytes,
                firstSendBytes, newFlow == FlowKind.READ_RING ? receiveBufferBytes / 2 : firstChunkBytes,
                maxWriteBytes, maps, newFlow, message);
    }

    /** The same with maps: the nearest smaller number that is possible. */
    public StreamSettings withMaps(int wanted) {
        return new StreamSettings(immediateData, emptyReceive, receiverNotReadyRetry, copiesAtPost, maxSends,
                maxReceives, sendBufferBytes, receiveBufferBytes, firstSendBytes, firstChunkBytes, maxWriteBytes,
                possibleMaps(wanted), flow, messageBytes);
    }

    /** A number of maps that can be told: 0 to 128, or a multiple of 256; not more than wanted if that is in range. */
    public static int possibleMaps(int wanted) {
        return MapTable.unscale(MapTable.scale(Math.clamp(wanted, 0, MAX_MAPS)));
    }

    /** The same with other buffers; values are rounded up a little, or to the nearest in range. */
    public StreamSettings withBuffers(int sendBytes, int receiveBytes) {
        int send = bufferBytes(sendBytes);
        int receive = bufferBytes(receiveBytes);
        return new StreamSettings(immediateData, emptyReceive, receiverNotReadyRetry, copiesAtPost, maxSends,
                maxReceives, send, receive, Math.min(send, FIRST_SEND_BYTES), Math.min(receive / 2, FIRST_CHUNK_BYTES),
                maxWriteBytes, maps, flow, messageBytes);
    }

    private static int bufferBytes(int wanted) {
        int inRange = Math.clamp(wanted, MIN_BUFFER_BYTES, MAX_BUFFER_BYTES);
        return (inRange + BUFFER_STEP - 1) / BUFFER_STEP * BUFFER_STEP;
    }

    /** How large the send region of a connection must be: bytes, 0 if none is needed. */
    public long sendRegionBytes() {
        return RegionLayout.of(this).sendBytes();
    }

    /** How large the remotely writable region of a connection must be. */
    public long remoteRegionBytes() {
        return RegionLayout.of(this).remoteBytes();
    }

    /**
     * How many data messages the peer may send ahead, at least half of {@link #maxReceives()}, not all: control takes a
     * receive but no credit, and one that finds none costs 655 ms on InfiniBand and the connection on iWARP.
     */
    public int credits() {
        return maxReceives - spareReceives();
    }

    /** Receives that the peer gets no credit for, for its control messages. */
    int spareReceives() {
        return Math.min(CONTROL_RECEIVES, maxReceives / 2);
    }

    /** Bytes before the payload in a message of {@link FlowKind#SEND_RECEIVE} without immediate data; otherwise 0. */
    int headerBytes() {
        return flow == FlowKind.SEND_RECEIVE && !immediateData ? ImmediateData.BYTES : 0;
    }

    /** How long receives are, if they have memory. */
    int receiveBytes() {
        return flow == FlowKind.SEND_RECEIVE ? Math.max(headerBytes() + messageBytes, ImmediateData.BYTES)
                : ImmediateData.BYTES;
    }

    /** How large the ring is that the peer of a {@link ReadRing} writes to. */
    long ringBytes() {
        return 2L * firstChunkBytes;
    }

    /** The size that the peer has to know of the flow: bytes of the ring, or of a message; 0 for rsockets' own. */
    long flowBytes() {
        return flow == FlowKind.CREDIT_RING ? 0 : flow == FlowKind.SEND_RECEIVE ? messageBytes : ringBytes();
    }

    /** How many pieces of memory one send request gathers. */
    public int sendElements() {
        return headerBytes() > 0 ? MOST_SEND_ELEMENTS : 2;
    }
}
