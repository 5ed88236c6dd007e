package org.rdmasockets.internal.rsockets;

import java.net.SocketException;
import java.util.Objects;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.SendRequest;

/**
 * Sends from memory of the application, a little by way of the send ring and more without it: into the stream, which
 * looks the same on the wire, or beside it into memory that the peer has mapped (rsockets' direct data placement). The
 * device reads the memory until the requests have completed, unless it copies what is posted:
 *
 * <pre>
 * write() or place() until all was taken; then wait until isSent(): from then on nothing reads from the memory
 * </pre>
 *
 * <p>A writer that has begun such a write ends it before it writes anything else, or ends the connection.
 *
 * <p>Threads: as the connection's.
 */
public final class DirectSender {
    /** Up to this a copy takes less time than the way to the peer and back that a writer would wait for instead. */
    private static final int MOST_COPIED = 2048;

    private final StreamConnection connection;
    private final MessageSender sendQueue;
    private final SendBuffer sendBuffer;
    private final int maxWriteBytes;
    private final boolean copiesAtPost;
    /** A write has begun and not all of it was taken. */
    private boolean unfinished;
    /** The write that has begun goes into memory that the peer has mapped. */
    private boolean placing;
    /** A request of the write that has begun reads from the application's memory, as far as is known. */
    private boolean lent;
    /** The device no longer reads the memory once this many requests have completed; 0 if no writer waits for that. */
    private long sentAt;

    DirectSender(StreamConnection connection) {
        this.connection = connection;
        sendQueue = connection.sendQueue;
        sendBuffer = sendQueue.ring;
        maxWriteBytes = connection.settings().maxWriteBytes();
        copiesAtPost = connection.settings().copiesAtPost();
    }

    /**
     * Writes as many bytes of the domain as can be taken now, perhaps 0. If it throws, as
     * {@link StreamConnection#write}, what was taken may still be read from the memory, until the queue pair is gone.
     */
    public int write(MemoryRegion from, long offset, int length) throws SocketException {
        Objects.checkFromIndexSize(offset, length, from.lengthBytes());
        if (length > 0 && !unfinished && connection.losesWrite(length)) {
            return length;
        }
        int taken = 0;
        while (taken < length && connection.canSend()) {
            int count = Math.min(Math.min(length - taken, maxWriteBytes), connection.carrier().room());
            send(from, offset + taken, count, taken + count == length);
            taken += count;
        }
        connection.wrote(taken);
        if (taken < length) {
            connection.awaitRoom();
        }
        finish(taken < length, false);
        return taken;
    }

    /** Notes whether the rest is still to come. */
    private void finish(boolean nowUnfinished, boolean nowPlacing) throws SocketException {
        unfinished = nowUnfinished;
        placing = nowPlacing;
        connection.ensureOutput();
    }

    private void send(MemoryRegion from, long offset, int count, boolean last) {
        connection.finish(count, fill(connection.carrier().begin(), from, offset, count, last));
        end(last);
    }

    /** Fills a request from the memory, or from a copy of a little, signalled if last; gives what the ring keeps. */
    private int fill(SendRequest request, MemoryRegion from, long offset, int count, boolean last) {
        boolean readLater = !copiesAtPost && !sendQueue.isInline(count);
        boolean copied = readLater && count <= Math.min(MOST_COPIED, sendBuffer.free());
        if (copied) {
            sendBuffer.place(from.segment(), offset, count, request);
        } else {
            request.add(from, offset, count);
        }
        lent |= readLater && !copied;
        if (last && lent) {
            request.signalled();
        }
        return copied ? sendBuffer.keep(count) : 0;
    }

    private void end(boolean last) {
        if (last && lent) {
            sentAt = sendQueue.posted();
            lent = false;
        }
    }

    /**
     * Writes into memory that the peer has mapped, as much as can be taken now. The peer is not told; what is written
     * to the stream later arrives later. If not all is mapped, nothing was written, or the connection breaks.
     */
    public int place(long at, MemoryRegion from, long offset, int length) throws SocketException {
        Objects.checkFromIndexSize(offset, length, from.lengthBytes());
        MapTable maps = connection.carrier() instanceof CreditRing ring ? ring.maps : null;
        if (maps == null || !unfinished && !maps.covers(at, length)) {
            throw new SocketException("The peer has not mapped " + length + " bytes at offset " + at);
        }
        int taken = 0;
        while (taken < length && connection.canPlace()) {
            taken += placePiece(maps, at + taken, from, offset + taken, length - taken);
        }
        connection.wrote(taken);
        finish(taken < length, true);
        return taken;
    }

    /** Returns how many bytes were written, up to the end of what the peer has mapped in one piece. */
    private int placePiece(MapTable maps, long at, MemoryRegion from, long offset, int length) {
        int entry = maps.find(at);
        if (entry == MapTable.NONE) {
            connection.fail(StreamFailure.of("The peer has unmapped offset " + at + " while it was written",
                    "a map was replaced"));
            return 0;
        }
        int count = Math.min(Math.min(length, maxWriteBytes), maps.room(entry, at));
        SendRequest request = sendQueue.begin(WorkRequestId.DATA, maps.address(entry, at), maps.key(entry));
        int kept = fill(request, from, offset, count, count == length);
        connection.failUnlessPosted("ibv_post_send", sendQueue.postPayload(WorkRequestId.DATA, count, kept));
        end(count == length);
        return count;
    }

    /** The writer gives up: true if the device may read from the memory until the queue pair is gone. */
    public boolean giveUp() {
        boolean stillRead = lent || !isRead();
        lent = false;
        sentAt = 0;
        return stillRead;
    }

    /** Whether the writer has to call {@link #write} or {@link #place} again with the rest. */
    boolean isUnfinished() {
        return unfinished;
    }

    /** Whether that would take some of it. */
    boolean canGoOn() {
        return placing ? connection.canPlace() : connection.canSend();
    }

    /** Whether a writer waits for {@link #isSent}. */
    boolean isAwaited() {
        return sentAt != 0;
    }

    /** Whether {@link #isSent} would return true, if the connection has not failed. */
    boolean isRead() {
        return sendQueue.completed() >= sentAt;
    }

    /** Whether the device has read all that was taken; ask until it has. Throws if the connection broke. */
    public boolean isSent() throws SocketException {
        if (connection.failure() != null) {
            throw connection.failure().exception();
        }
        boolean sent = isRead();
        if (sent) {
            sentAt = 0;
        }
        return sent;
    }
}
