package org.rdmasockets.internal.sharedmemory.link;

import static org.rdmasockets.internal.sharedmemory.link.SegmentLayout.INT;

import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;

/**
 * A queue pair's place in the memory of a link: how many receives it has posted, for the peer to see, and the peer's
 * own count. So a peer knows before it sends that there is a receive, and one queue pair that has none never holds up
 * the ring for others.
 *
 * <p>A slot keeps the link's memory mapped, so every call is safe until {@link #close}; calls must not overlap with it,
 * which the queue pair's lock ensures. Counts wrap around: compare by difference.
 */
public final class LinkSlot implements AutoCloseable {
    /** How many slots each side of a link has. */
    public static final int MOST = 1 << 16;

    private final Link link;
    private final ByteBuffer buffer;
    private final int index;
    /** Where the peer's slot is in the memory, or -1; guarded as the calls are. */
    private int peers = -1;
    /** Guarded by this. */
    private boolean closed;

    /** Takes over an index and one entering of the link's memory. */
    LinkSlot(Link link, ByteBuffer buffer, int side, int index) {
        this.link = link;
        this.buffer = buffer;
        this.index = index;
        int own = SegmentLayout.slot(side, index);
        INT.set(buffer, own + SegmentLayout.SLOT_COUNT, 0);
        INT.set(buffer, own + SegmentLayout.SLOT_STARVING, 0);
        INT.set(buffer, own + SegmentLayout.SLOT_ON_REQUEST, 0);
    }

    /** Where this side's slot is in the memory. */
    private int own() {
        return SegmentLayout.slot(link.side, index);
    }

    /**
     * The number by which the peer names this queue pair in entries and in {@link #connect}: 0 to {@link #MOST} - 1.
     */
    public int index() {
        return index;
    }

    /** Names the peer's slot, as the peer told it; false if it is out of range, which only a hostile peer says. */
    public boolean connect(int peerIndex) {
        if (peerIndex < 0 || peerIndex >= MOST) {
            return false;
        }
        peers = SegmentLayout.slot(1 - link.side, peerIndex);
        return true;
    }

    /** Publishes how many receives were posted here since the slot was opened, and rings if the peer starves. */
    public void receivesPosted(int cumulativeCount) {
        int own = own();
        INT.setRelease(buffer, own + SegmentLayout.SLOT_COUNT, cumulativeCount);
        // Between our count and the peer's word; in starve() there is one between its word and our count.
        VarHandle.fullFence();
        if ((int) INT.getOpaque(buffer, own + SegmentLayout.SLOT_STARVING) != 0
                && (int) INT.getAndSet(buffer, own + SegmentLayout.SLOT_STARVING, 0) != 0) {
            link.socket.ring();
        }
    }

    /** Lets the peer know that receives are posted here when it asks for them; before it is told of this slot. */
    public void giveOnRequest() {
        INT.setRelease(buffer, own() + SegmentLayout.SLOT_ON_REQUEST, 1);
    }

    /** Whether the peer posts receives when it is asked for them, as it says; false before {@link #connect}. */
    public boolean isPeerOnRequest() {
        return peers >= 0 && (int) INT.getAcquire(buffer, peers + SegmentLayout.SLOT_ON_REQUEST) != 0;
    }

    /**
     * How many receives the peer has posted, as it says, wrapping around; 0 before {@link #connect}. A hostile peer may
     * say anything: it is a hint on when to send, and what is sent without a receive is the peer's own loss.
     */
    public int peerReceivesPosted() {
        return peers < 0 ? 0 : (int) INT.getAcquire(buffer, peers + SegmentLayout.SLOT_COUNT);
    }

    /** Asks the peer to ring at its next receive; look at {@link #peerReceivesPosted} again after this. */
    public void starve() {
        if (peers >= 0) {
            INT.setVolatile(buffer, peers + SegmentLayout.SLOT_STARVING, 1);
            VarHandle.fullFence();
        }
    }

    /** Gives the slot back. Idempotent. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            link.closeSlot(index);
        }
    }
}
