package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.SendRequest;

/**
 * A flow into a ring of the peer, whose position this end reads by RDMA when it may run out of room. So a receiver only
 * stores its position, and sends nothing unless the writer waits for it. This is for streams that go one way, and for
 * receivers whose processors are scarce.
 *
 * <p>A writer does not ask again and again. If it finds the ring full, or all its messages on their way, it says so
 * ({@link ImmediateData#BLOCKED_BY_BYTES}, {@link ImmediateData#BLOCKED_BY_MESSAGES}). The peer wakes it ({@link
 * ImmediateData#WAKE}) once a quarter of the ring is free, or at once if it waits for messages: the peer has taken all
 * of them in when the word arrives behind them. At most one of each is on its way, so the receives that no credit was
 * given for are enough for them.
 */
final class ReadRing extends Flow {
    private static final int PARTS = 4;
    /** The peer waits for nothing. */
    private static final int NOBODY = 0;

    private final ReceiveRing received;
    private final MemoryRegion region;
    private final long sinkOffset;
    /** The hosts are of different byte order. */
    private boolean swap;
    /** Null before the start. */
    private PeerRing peer;
    /** A read of the peer's position is on its way. */
    private boolean looking;
    /** The peer was told that we wait, and has not woken us. */
    private boolean blocked;
    /** The peer has woken us: look again. */
    private boolean again;
    /** A writer waits for room. */
    private boolean wanted;
    /** The word by which the peer said that it waits, or 0. */
    private int blockedPeer = NOBODY;

    ReadRing(StreamConnection connection) {
        super(connection);
        received = new ReceiveRing(connection);
        region = connection.remoteRegion();
        sinkOffset = RegionLayout.of(connection.settings()).ringOffset() - RegionLayout.SINK_BEFORE_RING;
    }

    /** A new one, which is loaded only if it is used. */
    static Flow of(StreamConnection connection) {
        return new ReadRing(connection);
    }

    @Override
    FlowKind kind() {
        return FlowKind.READ_RING;
    }

    @Override
    String start(ConnectData data) {
        peer = new PeerRing(data);
        swap = data.bigEndian() != ConnectData.isNativeBigEndian();
        return null;
    }

    @Override
    int room() {
        return peer.room();
    }

    @Override
    void awaitRoom() {
        wanted = true;
    }

    @Override
    SendRequest begin() {
        return sendQueue.begin(WorkRequestId.DATA, peer.nextAddress(), peer.key);
    }

    @Override
    int finish(int count, int kept) {
        peer.write(count);
        return sendQueue.finishData(count, kept, false);
    }

    @Override
    ReceiveRing received() {
        return received;
    }

    @Override
    String arrived(int slot, int message, int lengthBytes) {
        connection.repost(slot);
        int argument = ImmediateData.argument(message);
        return switch (ImmediateData.operation(message)) {
            case ImmediateData.DATA -> closing.isInputEnded() ? null : received.arrive(argument);
            case ImmediateData.CONTROL -> control(argument);
            default -> unknown(message);
        };
    }

    private String control(int word) {
        switch (word) {
            case ImmediateData.BLOCKED_BY_BYTES, ImmediateData.BLOCKED_BY_MESSAGES -> {
                if (blockedPeer != NOBODY) {
                    return "said twice that it waits";
                }
                blockedPeer = word;
            }
            case ImmediateData.WAKE -> {
                if (!blocked) {
                    return "woke who does not wait";
                }
                blocked = false;
                again = true;
            }
            default -> closing.received(word);
        }
        return null;
    }

    /**
     * Takes the peer's position, which a read has brought. A position caught half changed tells nothing, perhaps for
     * long: the peer's thread may wait for a processor. So this end does not read again and again: a writer says that
     * it waits, which the peer hears after it has changed the position.
     */
    @Override
    String learned() {
        looking = false;
        long released = read(0);
        long taken = read(1);
        boolean whole = released == read(2) && taken == read(3);
        String wrong = whole ? peer.advance(released, taken) : null;
        wanted = wanted && peer.room() == 0;
        return wrong;
    }

    private long read(int index) {
        long value = region.segment().get(ValueLayout.JAVA_LONG, sinkOffset + (long) index * Long.BYTES);
        return swap ? Long.reverseBytes(value) : value;
    }

    private boolean isLookDue() {
        return !looking && !blocked && !isOutputOver()
                && (again || wanted && peer.hasSentSinceLook() || peer.isLookOfUse());
    }

    private boolean isBlockedDue() {
        return wanted && !looking && !blocked && !isOutputOver() && peer.room() == 0;
    }

    private boolean isOutputOver() {
        return closing.isOutputShut() || closing.isFinished();
    }

    private boolean isWakeDue() {
        return blockedPeer != NOBODY && !closing.isFinished() && !closing.isInputEnded()
                && (blockedPeer == ImmediateData.BLOCKED_BY_MESSAGES
                        || received.free() >= Math.max(1, received.capacity / PARTS));
    }

    @Override
    boolean isNewsDue() {
        return peer != null && (isWakeDue() || isLookDue() || isBlockedDue());
    }

    @Override
    boolean mayTellNews() {
        return !isWakeDue() && isLookDue() || super.mayTellNews();
    }

    @Override
    int tellNews() {
        if (isWakeDue()) {
            blockedPeer = NOBODY;
            received.publish(); // all receives are posted by now
            return tell(ImmediateData.WAKE);
        }
        if (isLookDue()) {
            looking = true;
            again = false;
            peer.look();
            return sendQueue.postRead(region, sinkOffset, ReceiveRing.POSITION_BYTES, peer.positionAddress(), peer.key);
        }
        blocked = true;
        return tell(peer.hasCredit() ? ImmediateData.BLOCKED_BY_BYTES : ImmediateData.BLOCKED_BY_MESSAGES);
    }

    @Override
    public String toString() {
        return peer + (looking ? " looking" : "") + (blocked ? " blocked" : "") + (wanted ? " wanted" : "")
                + (blockedPeer == NOBODY ? "" : " peer blocked") + " " + received;
    }

    /**
     * The ring that the peer writes to, and the position that it reads: how many bytes were read, and how many messages
     * were taken in with their receives posted again. The position is there twice, the second copy written after the
     * first, so that a read that caught it half changed shows. It is stored in steps, for a position that changes with
     * each small message is seldom caught whole, and its cache line would go to and fro between the two:
     *
     * <pre>
     * +----------------+----------------+----------------+----------------+
     * | bytes released | messages taken | bytes released | messages taken |  8 bytes each, in this end's byte order
     * +----------------+----------------+----------------+----------------+
     * </pre>
     */
    private static final class ReceiveRing extends Received {
        /** Length of the position in bytes. */
        static final int POSITION_BYTES = 4 * Long.BYTES;

        /** In how many steps the position goes around the ring; the peer asks for at most a quarter at once. */
        private static final int STEPS = 16;

        private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

        private final MemoryRegion region;
        private final long offset;
        private final long positionOffset;
        final long capacity;
        private final int credits;
        private final MessageReceiver receives;
        private long read;
        private long messages;
        /** The counts of both that the peer can know. */
        private long publishedBytes;
        private long published;

        ReceiveRing(StreamConnection connection) {
            StreamSettings settings = connection.settings();
            region = connection.remoteRegion();
            offset = RegionLayout.of(settings).ringOffset();
            positionOffset = offset - RegionLayout.POSITION_BEFORE_RING;
            capacity = settings.ringBytes();
            credits = settings.credits();
            receives = connection.receiveQueue;
        }

        /** Takes a message, whose receive was given back before. Null if all is well, else what the peer did wrong. */
        String arrive(int bytes) {
            if (messages - published >= credits) {
                return "sent more than the " + credits + " messages it had credits for";
            }
            long room = Math.min(free(), capacity - (read + unread) % capacity);
            if (bytes == 0 || bytes > room) {
                return "sent " + bytes + " bytes where it had room for " + room;
            }
            messages++;
            add(bytes);
            advance();
            return null;
        }

        /** Shows the peer how far we are, if that is a step further than what it can know. */
        private void advance() {
            if (read - publishedBytes >= Math.max(1, capacity / STEPS)
                    || messages - receives.freeCount() - published >= Math.max(1, credits / STEPS)) {
                publish();
            }
        }

        void publish() {
            publishedBytes = read;
            published = Math.max(published, messages - receives.freeCount());
            MemorySegment memory = region.segment();
            for (int copy = 0; copy < 2; copy++) {
                long at = positionOffset + copy * 2L * Long.BYTES;
                LONG.setRelease(memory, at, read);
                LONG.setRelease(memory, at + Long.BYTES, published);
            }
        }

        long free() {
            return capacity - unread;
        }

        @Override
        int piece() {
            return (int) Math.min(unread, capacity - read % capacity);
        }

        @Override
        void skip(int bytes) {
            unread -= bytes;
            read += bytes;
            advance();
        }

        @Override
        MemoryRegion viewedRegion() {
            return region;
        }

        @Override
        long viewedOffset() {
            return offset + read % capacity;
        }

        @Override
        public String toString() {
            return "unread=" + unread + " messages=" + messages + " published=" + publishedBytes
                    + " in " + published;
        }
    }
}
