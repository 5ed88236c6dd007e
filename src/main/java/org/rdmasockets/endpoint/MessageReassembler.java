package org.rdmasockets.endpoint;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.SocketTimeoutException;
import java.util.OptionalInt;
import org.rdmasockets.internal.lock.CallerLock;
import org.rdmasockets.internal.connection.InterruptibleWait;

/**
 * Puts messages together, by one thread at a time; a thread that gives up in the middle leaves what there is to the
 * next. Each piece is copied out of its buffer, which goes back to the peer as a credit: so a message may be longer
 * than all buffers. Its memory grows with what has come, whatever the peer has announced; only one that is read from
 * the peer's memory has all of its own from the beginning.
 */
final class MessageReassembler {
    private static final String WHAT = "message";
    /** Memory of a message when its first piece has come; later a multiple of what has come. */
    private static final int FIRST_BYTES = 64 << 10;
    private static final int GROWTH = 4;

    private final EndpointProtocol link;
    private final CallerLock turn = new CallerLock();
    /** The piece to copy next, null if it has not come; protected by turn, as the rest. */
    private ReceiveSide.Fragment piece;
    /** The memory of the message; null while there is none, or it has no bytes. */
    private LocalRegion region;
    /** The region's part of the process's budget; null for a message that is no longer than the buffers. */
    private Budget.Part part;
    private long done;
    /** Of the message that has begun. */
    private long length;
    /** The read of a message from the peer's memory; null while there is none. */
    private Pending<Void> reading;
    /** This end is closed; written before the last try to take the turn. */
    private volatile boolean closed;

    MessageReassembler(EndpointProtocol link) {
        this.link = link;
    }

    Message receive(long deadlineNanos) throws IOException {
        lockTurn(deadlineNanos);
        try {
            return putTogether(deadlineNanos, true);
        } finally {
            endTurn();
        }
    }

    /** The next message, on the heap; null if it is longer than that. */
    byte[] receiveArray(int most, long deadlineNanos) throws IOException {
        lockTurn(deadlineNanos);
        try {
            return toArray(most, deadlineNanos, true);
        } finally {
            endTurn();
        }
    }

    /** The next message, null if it has not come as a whole, or another thread waits for it. */
    Message poll() throws IOException {
        if (!turn.tryLock()) {
            return null;
        }
        try {
            return putTogether(Long.MAX_VALUE, false);
        } finally {
            endTurn();
        }
    }

    /** As {@link #poll}, on the heap. */
    byte[] pollArray(int most) throws IOException {
        if (!turn.tryLock()) {
            return null;
        }
        try {
            return toArray(most, Long.MAX_VALUE, false);
        } finally {
            endTurn();
        }
    }

    private void lockTurn(long deadlineNanos) throws IOException {
        if (!InterruptibleWait.lock(turn, deadlineNanos)) {
            throw new SocketTimeoutException("no " + WHAT + " has come in time");
        }
    }

    private void endTurn() {
        turn.unlock();
        dropIfClosed();
    }

    /** Ends the wait of the thread that waits for a message, or of the next one if none does. */
    void wakeup() {
        link.compute(unused -> {
            link.messageSide().messages.wakeup();
            return null;
        });
    }

    /** Puts a message together, of what is there unless {@code waits}. The caller has the turn. */
    private Message putTogether(long deadlineNanos, boolean waits) throws IOException {
        try {
            Message whole = null;
            while (whole == null && (waits || hasPiece() && !isReading())) {
                whole = addPiece(deadlineNanos, waits);
            }
            return whole;
        } catch (EndpointException e) {
            if (e.reason() != EndpointException.Reason.LIMIT) {
                drop(); // the rest will not come
            }
            throw e;
        }
    }

    /** Any thread: this end is closed. Never blocks: a thread that has the turn drops what there is when it leaves. */
    void close() {
        closed = true;
        dropIfClosed();
    }

    private void dropIfClosed() {
        if (closed && turn.tryLock()) {
            drop();
            piece = null;
            turn.unlock();
        }
    }

    /** Likewise on the heap, straight out of its buffer if it has come as one piece. */
    private byte[] toArray(int most, long deadlineNanos, boolean waits) throws IOException {
        if (region == null && done == 0) { // no message has begun
            if (waits) {
                awaitPiece(deadlineNanos);
            } else if (!hasPiece()) {
                return null;
            }
            length = piece.header().lengthBytes();
            if (length <= most && piece.bytes().byteSize() == length) {
                byte[] bytes = new byte[(int) length];
                link.compute(unused -> copy(MemorySegment.ofArray(bytes)));
                return bytes;
            }
        }
        if (length > most) {
            return null;
        }
        try (Message whole = putTogether(deadlineNanos, waits)) {
            return whole == null ? null : whole.toArray();
        }
    }

    private boolean hasPiece() {
        if (piece == null) {
            piece = link.poll(link.messageSide().messages);
        }
        return piece != null;
    }

    /** The message, if the next piece makes it whole. */
    private Message addPiece(long deadlineNanos, boolean waits) throws IOException {
        awaitPiece(deadlineNanos);
        Header header = piece.header();
        length = header.lengthBytes();
        if ((header.flags() & Header.RENDEZVOUS) != 0) {
            return read(header, deadlineNanos, waits);
        }
        long size = piece.bytes().byteSize();
        if (region == null && size > 0 && done + size == length) {
            region = link.domain.allocateForMessage(size);
        } else {
            makeRoom(length, done + size);
        }
        link.compute(unused -> {
            copy(size == 0 ? MemorySegment.NULL : region.memory().asSlice(done, size));
            done += size;
            return null;
        });
        return done == length ? finish(header) : null;
    }

    private boolean isReading() {
        return reading != null && !reading.look();
    }

    /** Reads a message from the peer's memory; a read that has not ended is left to the next call. */
    private Message read(Header header, long deadlineNanos, boolean waits) throws IOException {
        if (reading == null) {
            long size = header.lengthBytes();
            if (size <= (long) link.settings.dataMessages * link.settings.bufferBytes) {
                region = link.domain.allocateForMessage(size); // no more than a peer fills anyway
            } else {
                makeRoom(size, size);
            }
            reading = link.compute(unused -> {
                link.ensureAlive();
                Pending<Void> begun = new Pending<>(link.writers, "read of a " + WHAT);
                link.sends.access(new Transfer(new Transfer.Task(Transfer.Kind.READ, region,
                        RemoteRegion.of(header.address(), header.lengthBytes(), header.word()), OptionalInt.empty()),
                        link.accessPieceBytes, begun));
                return begun;
            });
        }
        if (!waits && isReading()) {
            return null;
        }
        reading.await(deadlineNanos);
        link.compute(unused -> {
            link.ensureNotDiscarded();
            ReceiveSide.Fragment next = piece;
            piece = null;
            reading = null;
            link.messageSide().giveBack(next);
            link.sends.tell(new ControlMessage(Header.of(Header.Kind.MESSAGE_READ)));
            return null;
        });
        done = header.lengthBytes();
        return finish(header);
    }

    private void awaitPiece(long deadlineNanos) throws IOException {
        if (piece == null) {
            piece = link.take(link.messageSide().messages, deadlineNanos, WHAT);
            if (piece == null) {
                throw new SocketTimeoutException("the receiver was woken up before a " + WHAT + " had come");
            }
        }
    }

    /** Makes room for so many bytes of a message. If this throws, nothing has changed, and it can be tried again. */
    private void makeRoom(long whole, long have) throws IOException {
        if (have <= (region == null ? 0 : region.length())) {
            return;
        }
        long size = Math.min(whole, Math.max(FIRST_BYTES, GROWTH * have));
        Budget.Part taken = Budget.MESSAGES.take(size);
        if (taken == null) {
            link.compute(unused -> {
                link.ensureAlive(); // else the rest will not come
                return null;
            });
            throw new EndpointException(EndpointException.Reason.LIMIT, "no memory for " + have + " bytes of a message "
                    + "of " + whole + ": the budget of unfinished messages has too little left: " + Budget.MESSAGES
                    + ", or receive later");
        }
        LocalRegion larger;
        try {
            larger = link.domain.allocateForMessage(size, region, done);
        } catch (Throwable e) {
            taken.giveBack();
            throw e;
        }
        free();
        region = larger;
        part = taken;
    }

    private void free() {
        if (region != null) {
            region.block.close();
        }
        settle();
    }

    /** The memory no longer counts against the budget: it is the application's, or was closed. */
    private void settle() {
        if (part != null) {
            part.giveBack();
        }
        region = null;
        part = null;
    }

    /** Protocol lock held, which keeps a close from giving buffers and region to others meanwhile: takes the piece. */
    private Void copy(MemorySegment to) throws EndpointException {
        link.ensureNotDiscarded();
        ReceiveSide.Fragment next = piece;
        MemorySegment.copy(next.bytes(), 0, to, 0, next.bytes().byteSize());
        piece = null; // before its buffer goes back: nothing is copied twice
        link.messageSide().giveBack(next);
        return null;
    }

    private void drop() {
        reading = null;
        free();
        done = 0;
    }

    private Message finish(Header header) {
        boolean immediate = (header.flags() & Header.IMMEDIATE) != 0;
        Message whole = new Message(region, done, immediate ? OptionalInt.of(header.word()) : OptionalInt.empty());
        settle();
        done = 0;
        return whole;
    }
}
