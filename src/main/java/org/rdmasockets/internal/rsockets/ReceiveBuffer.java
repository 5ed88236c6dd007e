package org.rdmasockets.internal.rsockets;

import org.rdmasockets.verbs.MemoryRegion;

/**
 * The chunks that were lent to the peer and are not used up, and the credits given to it. The peer fills the chunks in
 * turn; a message never crosses from one to the next. Credits are counted when data arrives: a byte stream needs no
 * record of where messages end.
 *
 * <pre>
 * head                filling              tail
 * | arrived, being read | being filled | lent |
 * </pre>
 *
 * <p>The peer may write into two chunks at a time, as in C. They are small at first. When they have little room left,
 * large ones are asked for and lent as well, even if the application does not read: as over TCP, a writer may count on
 * {@code SO_RCVBUF} bytes. To get large ones back, a small one is offered in their place, if the peer knows offers; see
 * {@link #offer}.
 */
final class ReceiveBuffer extends Received {
    /** Chunks that the peer may write into at a time. */
    private static final int AHEAD = 2;

    private final ChunkStock stock;
    private final int credits;
    /** Whether the second chunk waits until half of the first is filled, which spares idle streams a message. */
    private final boolean lendsLate;

    /** Where the last lent chunk ends, in an imagined ring of large ones. */
    private int lentUntil;
    /** The cuts of messages by the ends of large chunks; null until one is filled. */
    private Cuts cuts;
    /** The oldest chunk that is not used up, which leads to the others; null if there is none. */
    private Chunk head;
    /** The chunk for the next data; null if there is no room. */
    private Chunk filling;
    /** How many chunks are not used up. */
    private byte count;
    /** The chunk that was offered for all others, until the peer has moved to it; else null. */
    private Chunk offered;
    /** A second chunk was lent. */
    private boolean lentMore;
    /** A chunk was used up since {@link #isFreed}. */
    private boolean freed;
    /** Data messages that arrived, wrapping around. */
    int received;
    /** Data messages that the peer may have sent, wrapping around. */
    private int granted;

    /** A buffer whose first chunk is lent to the peer. */
    ReceiveBuffer(ChunkStock stock, StreamSettings settings) {
        this.stock = stock;
        this.credits = settings.credits();
        this.granted = credits;
        this.lendsLate = settings.copiesAtPost();
        lend();
        lentMore = false;
    }

    /** Counts a message that costs a credit; null if all is well, else what the peer did wrong. */
    String messageArrived() {
        if (received == granted) {
            return "sent more than the " + Integer.toUnsignedString(granted) + " messages it had credits for";
        }
        received++;
        return null;
    }

    /** Takes data, as long as the peer says; null if all is well, else what the peer did wrong. */
    String dataArrived(int bytes) {
        int room = room();
        if (bytes > room) {
            return "sent " + bytes + " bytes where it had room for " + room;
        }
        if (bytes == 0) {
            return null;
        }
        noteCut(bytes);
        filling.arrive(bytes);
        if (add(bytes) && room - bytes < stock.lowWater() && mayGrow()) {
            stock.wantMore();
        }
        return null;
    }

    /** Moves the ends of large chunks to where the peer's writes end; a message is about to be counted. */
    private void noteCut(int bytes) {
        if (filling.isPermanent()) {
            return;
        }
        if (cuts == null) {
            cuts = new Cuts();
        }
        lendUntil(-cuts.arrived(bytes, filling.room() == filling.lent(), filling.room() == bytes));
    }

    /** The chunk being filled is the last, and what is unread has not grown by large chunks before a pause already. */
    private boolean mayGrow() {
        return filling.next == null && count <= AHEAD && offered == null && lentMore;
    }

    /** How many bytes the peer may write at once; moves on to the next chunk if the current one is full. */
    private int room() {
        int room = filling == null ? 0 : filling.room();
        if (room == 0 && filling != null) {
            filling = filling.next;
            room = filling == null ? 0 : filling.room();
        }
        return room;
    }

    @Override
    int read(byte[] bytes, int offset, int length) {
        ensureNoView();
        int wanted = Math.min(length, unread);
        int done = 0;
        while (done < wanted) {
            done += head.read(bytes, offset + done, wanted - done);
            dropUsedUp();
        }
        unread -= wanted;
        return wanted;
    }

    @Override
    int piece() {
        return unread == 0 ? 0 : head.unread();
    }

    @Override
    void skip(int bytes) {
        head.skip(bytes);
        unread -= bytes;
        dropUsedUp();
    }

    @Override
    MemoryRegion viewedRegion() {
        return head.region;
    }

    @Override
    long viewedOffset() {
        return head.unreadOffset();
    }

    /** Takes the oldest chunks out of the queue as long as they are used up. */
    private void dropUsedUp() {
        while (head != null && head.isUsedUp()) {
            Chunk usedUp = head;
            head = usedUp.next;
            filling = filling == usedUp ? head : filling;
            count--;
            freed = true;
            stock.takeBack(usedUp);
        }
    }

    /** Whether a chunk was used up since the last call: only then a read may let another be lent. */
    boolean isFreed() {
        boolean was = freed;
        freed = false;
        return was;
    }

    /** Whether a chunk can be lent: the peer has room in fewer than two, and one of ours is free or large. */
    boolean isChunkDue() {
        boolean few = count < AHEAD && (lentMore || !lendsLate || room() < stock.lowWater());
        return offered == null && (few || stock.hasLarge() && ahead() < AHEAD);
    }

    /** In how many chunks the peer has room. */
    private int ahead() {
        int ahead = 0;
        for (Chunk chunk = room() == 0 ? null : filling; chunk != null; chunk = chunk.next) {
            ahead++;
        }
        return ahead;
    }

    /** Lends a chunk; gives where the peer may write when it has filled the others. */
    Chunk lend() {
        Chunk chunk = stock.take();
        lentMore = true;
        // A large chunk ends where it would in a ring of large ones: so few messages are split at its end.
        chunk.lend(stock.bytes(chunk) - (chunk.isPermanent() ? 0 : lentUntil));
        append(chunk);
        return chunk;
    }

    private void append(Chunk chunk) {
        chunk.next = null;
        if (head == null) {
            head = chunk;
        } else {
            last().next = chunk;
        }
        filling = filling == null ? chunk : filling;
        count++;
        lendUntil(chunk.lent());
    }

    private void lendUntil(long change) {
        lentUntil = Math.floorMod(lentUntil + change, stock.largeBytes);
    }

    private Chunk last() {
        Chunk last = head;
        while (last.next != null) {
            last = last.next;
        }
        return last;
    }

    /** Lends small chunks from now on, and gives back larger ones as they come. */
    void shrink() {
        cuts = null;
        stock.shrink();
    }

    /** Whether an offer helps: all was read, the peer may still write into a large chunk, and a small one is here. */
    boolean isOfferOfUse() {
        boolean large = false;
        for (Chunk chunk = filling; chunk != null; chunk = chunk.next) {
            large |= !chunk.isPermanent() && chunk.room() > 0;
        }
        return large && unread == 0 && offered == null && stock.hasPermanent();
    }

    /** Offers a small chunk to replace all lent ones: until the peer takes it, data goes on there, and none is lent. */
    Chunk offer() {
        offered = stock.takePermanent();
        offered.lend(stock.bytes(offered));
        return offered;
    }

    /** The peer writes into the offered chunk alone from now on. Null if all is well, else what it did wrong. */
    String offerTaken() {
        if (offered == null) {
            return "moved to a chunk that was not offered";
        }
        for (Chunk chunk = filling; chunk != null; chunk = chunk.next) {
            lendUntil(-chunk.room());
            chunk.end();
        }
        dropUsedUp();
        filling = null;
        append(offered);
        offered = null;
        return null;
    }

    /** Tells whether the peer should get credits: true if half of them were used. */
    boolean areCreditsDue() {
        return received + credits - granted >= Math.max(1, credits / 2);
    }

    /** Whether the peer may need an update: it has no byte left, or half of its credits, the rest in reserve. */
    boolean isPeerStarved() {
        return room() == 0 && offered == null || areCreditsDue();
    }

    /** Grants what can be granted; gives the new limit, for the peer. */
    int grant() {
        granted = received + credits;
        return granted;
    }

    /** The limit that the peer has: data messages since the start, wrapping around. */
    int granted() {
        return granted;
    }

    /** How many messages arrived that cost a credit: data messages since the start, wrapping around. */
    int received() {
        return received;
    }

    @Override
    public String toString() {
        StringBuilder chunks = new StringBuilder();
        for (Chunk chunk = head; chunk != null; chunk = chunk.next) {
            chunks.append(chunk == filling ? " >" : " ").append(chunk);
        }
        return "unread=" + unread + " chunks=" + chunks + (offered == null ? "" : " offered") + " received=" + received
                + " granted=" + granted;
    }

    /**
     * Where the ends of chunks cut what the peer writes. A writer with a buffer of 64 KiB that has said hello in 8
     * bytes would find each of its writes cut 8 bytes before its end, for ever: two messages, and two wake-ups of the
     * reader, where one would do. So once two ends have cut at the same place, the ends after them move there. A stream
     * whose writes differ in length is cut here and there, and nothing moves.
     */
    private static final class Cuts {
        /** Most moves: some streams look cut wherever the ends are. */
        private static final int MOST_MOVES = 8;
        /** How many ends still come that were set before a move. */
        private static final int PAUSE = 4;

        /** Lengths of the messages before and behind the last end of a chunk; 0 if it cut none. */
        private int before;
        private int behind;
        /** Length of the last message if it filled a chunk to its end, otherwise 0. */
        private int ending;
        private byte moves;
        private byte pause;

        /** Notes a message that perhaps begins or fills its chunk; tells how far ends should move on, mostly 0. */
        int arrived(int bytes, boolean begins, boolean ends) {
            int move = begins ? cut(ending, bytes) : 0;
            ending = ends ? bytes : 0;
            return move;
        }

        /** Notes a cut; two messages of equal length were not one that was cut. */
        private int cut(int newBefore, int newBehind) {
            boolean again = newBefore == before && newBehind == behind && before != 0 && before != behind;
            before = newBefore;
            behind = newBehind;
            if (pause > 0) {
                pause--;
                return 0;
            }
            if (!again || moves == MOST_MOVES) {
                return 0;
            }
            moves++;
            pause = PAUSE;
            return behind;
        }
    }
}
