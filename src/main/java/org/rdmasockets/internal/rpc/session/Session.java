package org.rdmasockets.internal.rpc.session;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import org.rdmasockets.internal.lock.Losses;

/**
 * One end of a session, for one thread at a time. Times are nanoseconds of any clock that does not go back. Packets
 * that carry data have numbers. A number modulo {@link #WINDOW} is its slot, for the sender and for the receiver.
 */
final class Session {
    /** Most numbers that may be on their way at once. */
    static final int WINDOW = 64;
    private static final int SLOT = WINDOW - 1;
    /** Most bytes that may be on their way at once: about as much as a receiver's socket and a ring have room for. */
    private static final int WINDOW_BYTES = 192 << 10;
    /** A packet counts as lost once another has come that was sent this many transmissions later. */
    private static final int REORDERED = 3;
    /** The weight of an array beside its bytes. */
    private static final int PIECE_BYTES = 32;
    private static final long MILLI = 1_000_000;
    private static final long FIRST_TIMEOUT = 100 * MILLI;
    private static final long LEAST_TIMEOUT = 2 * MILLI;
    private static final long MOST_TIMEOUT = 1000 * MILLI;
    /** The silence after which the peer is asked for a sign of life. */
    private static final long KEEPALIVE = 5_000 * MILLI;
    /** The silence after which a peer that was asked counts as gone. */
    private static final long DEAD = 20_000 * MILLI;
    private static final int LEAST_CONGESTION = 2;
    /** An acknowledgement goes out at the second packet, or this long after the first. */
    private static final long DELAY = MILLI / 4;

    /** The identifiers of this end and of the other one. */
    final long own;
    final long peer;
    final int payloadBytes;
    private final int maxMessage;
    private final int maxWaitingBytes;
    private final Packet out = new Packet();

    // The sending side. Numbers from firstUnacked to nextNumber are on their way, each in a slot.
    private final ArrayDeque<byte[]> messages = new ArrayDeque<>(0);
    private long queuedBytes;
    /** Bytes of the first message that are in slots. */
    private int taken;
    private boolean finQueued;
    private boolean finSent;
    private final byte[][] bytes = new byte[WINDOW][];
    private final int[] offsets = new int[WINDOW];
    private final int[] lengths = new int[WINDOW];
    /** Of the packets in slots that the peer does not have. */
    private int slotBytes;
    private final int[] flags = new int[WINDOW];
    /** The order of the last transmission of each slot. */
    private final long[] orders = new long[WINDOW];
    /** Slots that the peer has, and those that count as lost and have to be sent again: a bit each. */
    private long acked;
    private long lost;
    private long firstUnacked;
    private long nextNumber;
    private long nextOrder;
    /** The peer takes numbers below this. */
    private long limit = WINDOW;
    /** The congestion window, in packets, and the limit up to which it grows with each packet that came (RFC 9002). */
    private double congestion = 10;
    private double threshold = Double.MAX_VALUE;
    /** The window was already reduced for lost transmissions before this order. */
    private long recovery;
    /** Packets that were sent and neither came nor count as lost. */
    private int inFlight;
    private long takenAt;
    /** The round trip and how it varies, smoothed (RFC 6298); the timer's length from them, and its doublings since. */
    private long smoothed;
    private long variation;
    private long timeout = FIRST_TIMEOUT;
    private int backoff;
    /** When the timer for retransmission, or a question about room, ends; MAX_VALUE while there is none. */
    private long timer = Long.MAX_VALUE;

    // The receiving side.
    /** Packets that wait for one before them, by slot. */
    private final byte[][] early = new byte[WINDOW][];
    private final int[] earlyFlags = new int[WINDOW];
    private long earlyBytes;
    /** All packets below this number have come. */
    private long expected;
    /** The peer may send numbers below this: the highest limit that it was told. */
    private long granted = WINDOW;
    /** Bit i: the packet {@code expected + i} has come. */
    private long arrivedBits;
    private final ArrayDeque<byte[]> inbox = new ArrayDeque<>(0);
    private long inboxBytes;
    private long progress;
    /** The payloads that have come of the message that is not whole yet, and how many bytes they have. */
    private final ArrayList<byte[]> pieces = new ArrayList<>(0);
    private int assembled;
    private boolean finArrived;
    /** When the peer sent the last packet of data, or PING, by its clock: the next packet returns it. */
    private int lastSentMicros;
    /** Packets of data since the last packet to the peer, each of which acknowledges. */
    private int unanswered;
    /** When an acknowledgement has to go out: MIN_VALUE for now, MAX_VALUE for none. */
    private long answerAt = Long.MAX_VALUE;
    /** The last packet to the peer said that there is room. */
    private boolean roomTold = true;

    /** When the peer was heard last, and when it was last asked for a sign of life. */
    private long heardAt;
    private long askedAt;
    private boolean pingWanted;
    /** Why it is over, null while it is not. */
    private String failure;

    /**
     * A session that sends {@code payloadBytes} in each packet, takes messages of up to {@code maxMessage}, and holds
     * {@code maxWaitingBytes} of untaken messages, plus one.
     */
    Session(long own, long peer, int payloadBytes, int maxMessage, int maxWaitingBytes, long now) {
        this.own = own;
        this.peer = peer;
        this.payloadBytes = payloadBytes;
        this.maxMessage = maxMessage;
        this.maxWaitingBytes = maxWaitingBytes;
        heardAt = now;
        askedAt = now;
        takenAt = now;
    }

    /** Why this is over; null while it is not. */
    String failure() {
        return failure;
    }

    /** Fails if the peer has been silent for too long, even if it is this process that slept. */
    void expire(long now) {
        if (now - heardAt >= DEAD) {
            fail("the peer has said nothing for " + DEAD / MILLI / 1000 + " s");
        }
    }

    void fail(String reason) {
        if (failure == null) {
            failure = reason;
            forgetPieces();
            Arrays.fill(early, null);
            earlyBytes = 0;
            arrivedBits = 0;
        }
    }

    /** Bytes of messages that have not been acknowledged. */
    long queuedBytes() {
        return queuedBytes;
    }

    /** When the peer was last heard to have more. */
    long takenAt() {
        return takenAt;
    }

    /** Untaken bytes that have arrived, of whole messages and others. */
    long waitingBytes() {
        return inboxBytes + assembled + earlyBytes;
    }

    /** The memory that these take, about. */
    long heldBytes() {
        long arrays = inbox.size() + pieces.size() + (long) Long.bitCount(arrivedBits);
        return inboxBytes + assembled + earlyBytes + PIECE_BYTES * arrays;
    }

    /** Changes when a message has become whole or was taken. */
    long progress() {
        return progress;
    }

    /** Whether a packet is the next one and a whole message, and no message waits: it needs the room of one packet. */
    boolean isNextWhole(Packet packet) {
        return packet.number == expected && inbox.isEmpty()
                && (packet.flags & (Packet.FIRST | Packet.LAST)) == (Packet.FIRST | Packet.LAST);
    }

    /** Whether all that was sent has come. */
    boolean isSettled() {
        return messages.isEmpty() && firstUnacked == nextNumber && finQueued == finSent;
    }

    boolean hasPeerEnded() {
        return finArrived;
    }

    void send(byte[] message) {
        if (finQueued) {
            throw new IllegalStateException("nothing follows an end");
        }
        messages.add(message);
        queuedBytes += message.length;
    }

    void end() {
        finQueued = true;
    }

    /** Asks the peer for a sign of life, with the packets that go out next. */
    void ask() {
        pingWanted = true;
    }

    /** Whether {@link #poll} has a message. */
    boolean hasMessage() {
        return !inbox.isEmpty();
    }

    /** The next message; null if none is there. */
    byte[] poll() {
        byte[] message = inbox.poll();
        if (message != null) {
            progress++;
            inboxBytes -= message.length + 1L;
            if (!roomTold && room() > 0) {
                roomTold = true;
                answerAt = Long.MIN_VALUE;
            }
        }
        return message;
    }

    private int room() {
        return inboxBytes > maxWaitingBytes ? 0 : WINDOW;
    }

    // Packets in.

    /** A packet has come that is undamaged and has both identifiers. */
    void receive(Packet packet, long now) {
        if (failure != null) {
            return;
        }
        if (packet.kind == Packet.RESET) {
            fail("the peer does not know this session any more");
            return;
        }
        long beyond = packet.acknowledged + Long.SIZE - Long.numberOfLeadingZeros(packet.selective);
        if (packet.acknowledged < 0 || packet.acknowledged > nextNumber || packet.room < 0 || packet.room > WINDOW
                || beyond > nextNumber) {
            return; // no honest peer acknowledges what was not sent
        }
        heardAt = now;
        acknowledged(packet, now);
        if (packet.kind == Packet.DATA) {
            data(packet, now);
        } else if (packet.kind == Packet.PING) {
            lastSentMicros = packet.sentMicros;
            answerAt = Long.MIN_VALUE;
        }
    }

    private void data(Packet packet, long now) {
        if (packet.number >= granted) { // an honest peer only asks whether there is room again
            answerAt = Long.MIN_VALUE;
            return;
        }
        long ahead = packet.number - expected;
        if (ahead < 0 || ahead >= WINDOW || ahead > 0 && (arrivedBits & 1L << ahead) != 0) {
            answerAt = Long.MIN_VALUE; // the peer does not know that the packet is here
            return;
        }
        if (packet.payload.remaining() > Packet.MOST_PAYLOAD) {
            return;
        }
        lastSentMicros = packet.sentMicros;
        int slot = (int) packet.number & SLOT;
        early[slot] = new byte[packet.payload.remaining()];
        packet.payload.get(early[slot]);
        earlyFlags[slot] = packet.flags;
        earlyBytes += early[slot].length;
        arrivedBits |= 1L << ahead;
        boolean inOrder = ahead == 0 && arrivedBits == 1;
        while ((arrivedBits & 1) != 0 && failure == null) {
            int first = (int) expected & SLOT;
            earlyBytes -= early[first].length;
            take(early[first], earlyFlags[first]);
            early[first] = null;
            arrivedBits >>>= 1;
            expected++;
        }
        unanswered++;
        if (!inOrder || unanswered >= 2) {
            answerAt = Long.MIN_VALUE;
        } else {
            answerAt = Math.min(answerAt, now + DELAY);
        }
    }

    private void take(byte[] piece, int what) {
        boolean first = (what & Packet.FIRST) != 0;
        boolean last = (what & Packet.LAST) != 0;
        if ((what & Packet.FIN) != 0) {
            finArrived = true;
            return;
        }
        if (finArrived || first != pieces.isEmpty() || piece.length > maxMessage - assembled
                || piece.length == 0 && !(first && last)) {
            fail("the peer has broken the protocol of sessions: a piece of " + piece.length + " bytes, flags " + what
                    + ", after " + assembled + " of a message of at most " + maxMessage);
            return;
        }
        if (first && last) {
            deliver(piece);
            return;
        }
        pieces.add(piece);
        assembled += piece.length;
        if (last) {
            ByteBuffer whole = ByteBuffer.allocate(assembled);
            pieces.forEach(whole::put);
            forgetPieces();
            deliver(whole.array());
        }
    }

    private void forgetPieces() {
        pieces.clear();
        pieces.trimToSize();
        assembled = 0;
    }

    private void deliver(byte[] message) {
        progress++;
        inbox.add(message);
        inboxBytes += message.length + 1L;
    }

    private void acknowledged(Packet packet, long now) {
        limit = Math.max(limit, packet.acknowledged + packet.room);
        long newest = -1;
        int came = 0;
        for (long number = firstUnacked; number < nextNumber; number++) {
            long beyond = number - packet.acknowledged;
            boolean has = beyond < 0 || beyond > 0 && beyond <= Long.SIZE && (packet.selective & 1L << beyond - 1) != 0;
            int slot = (int) number & SLOT;
            long bit = 1L << slot;
            if (has && (acked & bit) == 0) {
                acked |= bit;
                newest = Math.max(newest, orders[slot]);
                came++;
                if ((lost & bit) == 0) {
                    inFlight--;
                }
                lost &= ~bit;
                queuedBytes -= lengths[slot];
                slotBytes -= lengths[slot] + Packet.HEADER_BYTES;
                bytes[slot] = null;
            }
        }
        while (firstUnacked < nextNumber && (acked & 1L << (firstUnacked & SLOT)) != 0) {
            acked &= ~(1L << (firstUnacked & SLOT));
            firstUnacked++;
        }
        if (came == 0) {
            return;
        }
        takenAt = now;
        measure(packet.echoMicros, now);
        backoff = 0;
        if (inFlight + came >= (int) congestion) { // else it was not the congestion window that bounded what was sent
            congestion += congestion < threshold ? came : came / congestion;
            congestion = Math.min(congestion, WINDOW);
        }
        findLost(newest);
        timer = firstUnacked == nextNumber ? Long.MAX_VALUE : now + timeout;
    }

    private void measure(int echoMicros, long now) {
        long sample = ((int) (now / 1000) - echoMicros & 0xFFFF_FFFFL) * 1000;
        if (echoMicros == 0 || sample > DEAD) {
            return;
        }
        if (smoothed == 0) {
            smoothed = sample;
            variation = sample / 2;
        } else {
            variation = (3 * variation + Math.abs(smoothed - sample)) / 4;
            smoothed = (7 * smoothed + sample) / 8;
        }
        timeout = Math.clamp(smoothed + 4 * variation + DELAY, LEAST_TIMEOUT, MOST_TIMEOUT);
    }

    /** Counts packets as lost that were sent long before one that has come. */
    private void findLost(long newest) {
        for (long number = firstUnacked; number < nextNumber; number++) {
            int slot = (int) number & SLOT;
            long bit = 1L << slot;
            if ((acked & bit) == 0 && (lost & bit) == 0 && orders[slot] + REORDERED <= newest) {
                lost |= bit;
                Losses.packet();
                inFlight--;
                if (orders[slot] >= recovery) {
                    recovery = nextOrder;
                    threshold = Math.max(LEAST_CONGESTION, congestion / 2);
                    congestion = threshold;
                }
            }
        }
    }

    // Packets out.

    /** When to call {@link #next} again if nothing happens before; may be in the past. */
    long deadline() {
        long silent = Math.max(heardAt, askedAt) + KEEPALIVE;
        return Math.min(Math.min(timer, answerAt), Math.min(silent, heardAt + DEAD));
    }

    /** Writes the next packet that has to go out now; false if there is none. */
    boolean next(ByteBuffer to, long now) {
        expire(now);
        if (failure != null) {
            return false;
        }
        if (timer <= now) {
            timedOut(now);
        }
        if (inFlight < (int) congestion && (lost != 0 || fillSlot())) {
            long number = lost == 0 ? nextNumber - 1 : firstLost();
            transmit(to, number, now);
            return true;
        }
        if (now - Math.max(heardAt, askedAt) >= KEEPALIVE || pingWanted) {
            pingWanted = false;
            askedAt = now;
            write(to, Packet.PING, now);
            return true;
        }
        if (answerAt <= now) {
            write(to, Packet.ACK, now);
            return true;
        }
        if (isBlocked() && timer == Long.MAX_VALUE) {
            timer = now + timeout; // the message that there is room may be lost
        }
        return false;
    }

    private boolean isBlocked() {
        return firstUnacked == nextNumber && nextNumber >= limit && (!messages.isEmpty() || finQueued && !finSent);
    }

    private void timedOut(long now) {
        backoff = Math.min(backoff + 1, 10);
        timer = now + Math.min(timeout << backoff, MOST_TIMEOUT);
        if (firstUnacked == nextNumber) {
            pingWanted = isBlocked();
            timer = pingWanted ? timer : Long.MAX_VALUE;
            return;
        }
        threshold = Math.max(LEAST_CONGESTION, congestion / 2);
        congestion = LEAST_CONGESTION;
        recovery = nextOrder;
        for (long number = firstUnacked; number < nextNumber; number++) {
            long bit = 1L << (number & SLOT);
            if ((acked & bit) == 0 && (lost & bit) == 0) {
                lost |= bit;
                Losses.packet();
            }
        }
        inFlight = 0;
    }

    private long firstLost() {
        long number = firstUnacked;
        while ((lost & 1L << (number & SLOT)) == 0) {
            number++;
        }
        return number;
    }

    /** Gives the next piece a number; false if there is no piece, or it may not be sent yet. */
    private boolean fillSlot() {
        if (nextNumber >= limit || nextNumber - firstUnacked >= WINDOW || messages.isEmpty() && finQueued == finSent
                || slotBytes + Packet.HEADER_BYTES + payloadBytes > WINDOW_BYTES) {
            return false;
        }
        int slot = (int) nextNumber & SLOT;
        byte[] message = messages.peek();
        if (message == null) {
            finSent = true;
            bytes[slot] = null;
            lengths[slot] = 0;
            flags[slot] = Packet.FIN;
        } else {
            int length = Math.min(payloadBytes, message.length - taken);
            bytes[slot] = message;
            offsets[slot] = taken;
            lengths[slot] = length;
            flags[slot] = (taken == 0 ? Packet.FIRST : 0) | (taken + length == message.length ? Packet.LAST : 0);
            taken += length;
            if (taken == message.length) {
                messages.poll();
                taken = 0;
            }
        }
        slotBytes += lengths[slot] + Packet.HEADER_BYTES;
        nextNumber++;
        return true;
    }

    private void transmit(ByteBuffer to, long number, long now) {
        int slot = (int) number & SLOT;
        lost &= ~(1L << slot);
        inFlight++;
        orders[slot] = nextOrder++;
        if (timer == Long.MAX_VALUE) {
            timer = now + timeout;
        }
        out.number = number;
        out.flags = flags[slot];
        stamp(Packet.DATA, now);
        out.write(to, bytes[slot], offsets[slot], lengths[slot]);
    }

    private void write(ByteBuffer to, int kind, long now) {
        out.number = 0;
        out.flags = 0;
        stamp(kind, now);
        out.write(to, null, 0, 0);
    }

    private void stamp(int kind, long now) {
        out.kind = kind;
        out.receiver = peer;
        out.sender = own;
        out.acknowledged = expected;
        out.selective = arrivedBits >>> 1;
        out.room = room();
        granted = Math.max(granted, expected + out.room);
        out.sentMicros = (int) (now / 1000) | 1;
        out.echoMicros = lastSentMicros;
        roomTold = out.room > 0;
        unanswered = 0;
        answerAt = Long.MAX_VALUE;
    }
}
