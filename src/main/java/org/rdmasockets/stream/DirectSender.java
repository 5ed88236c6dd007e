package org.rdmasockets.stream;

import java.net.SocketException;
import java.util.Objects;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.SendRequest;

/**
 * Sends from memory of the application, without the send ring. On the wire it is the same stream. The device reads the
 * memory until the requests have completed, unless it copies what is posted:
 *
 * <pre>
 * write() until all was taken; then wait until isSent(): from then on nothing reads from the memory
 * </pre>
 *
 * <p>Who has begun one such write ends it before anything else is written, or ends the connection.
 *
 * <p>Threads: as the connection's.
 */
public final class DirectSender {
    private final StreamConnection connection;
    private final SendQueue sendQueue;
    private final TargetTable targets;
    private final int maxWriteBytes;
    private final boolean copiesAtPost;
    /** A write has begun and not all of it was taken. */
    private boolean unfinished;
    /** A request of the write that has begun reads from the application's memory, as far as is known. */
    private boolean lent;
    /** How many requests will have completed when nothing reads from the memory any more; 0 if nobody waits for it. */
    private long sentAt;

    /** Nothing sent yet. */
    DirectSender(StreamConnection connection, SendQueue sendQueue, TargetTable targets, StreamSettings settings) {
        this.connection = connection;
        this.sendQueue = sendQueue;
        this.targets = targets;
        this.maxWriteBytes = settings.maxWriteBytes();
        this.copiesAtPost = settings.copiesAtPost();
    }

    /**
     * Writes as much as can be taken now.
     *
     * @param from memory of the connection's protection domain
     * @param offset the first byte
     * @param length how many, to the end of what is to be written
     * @return how many bytes were taken; 0 if none can be taken now, or length is 0
     * @throws SocketException as {@link StreamConnection#write}; then what was taken may still be read from the memory,
     *         until the queue pair is gone
     */
    public int write(MemoryRegion from, long offset, int length) throws SocketException {
        Objects.checkFromIndexSize(offset, length, from.lengthBytes());
        int taken = 0;
        while (taken < length && connection.canSend()) {
            int count = Math.min(Math.min(length - taken, maxWriteBytes), targets.room());
            send(from, offset + taken, count, taken + count == length);
            taken += count;
        }
        unfinished = taken < length;
        connection.ensureOutput();
        return taken;
    }

    private void send(MemoryRegion from, long offset, int count, boolean last) {
        SendRequest request = sendQueue.begin(WorkRequestId.DATA, targets.address(), targets.key())
                .add(from, offset, count);
        lent |= !copiesAtPost && !sendQueue.isInline(count);
        if (last && lent) {
            request.signalled();
        }
        connection.finish(count, 0);
        if (last && lent) {
            sentAt = sendQueue.completed() + sendQueue.outstanding();
            lent = false;
        }
    }

    /** Whether {@link #write} has to be called again with the rest. */
    boolean isUnfinished() {
        return unfinished;
    }

    /** Whether somebody waits for {@link #isSent}. */
    boolean isAwaited() {
        return sentAt != 0;
    }

    /** Whether {@link #isSent} would say so. */
    boolean isRead() {
        return sendQueue.completed() >= sentAt;
    }

    /**
     * Tells whether the device has read what was written; to be called until it says so.
     *
     * @return true if no request reads from the memory any more, provided that all was taken
     * @throws SocketException if the connection broke: "Connection reset", or what the peer did wrong
     */
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
