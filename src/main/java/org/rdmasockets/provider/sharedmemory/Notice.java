package org.rdmasockets.provider.sharedmemory;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.SendRequest;

/**
 * A request of a send queue whose memory part, if any, is done: what is left is to tell the peer, where it must know,
 * and to complete. Reusable; guarded by the send queue.
 */
final class Notice {
    private long id;
    private SendRequest.Opcode opcode;
    private boolean signalled;
    private boolean solicited;
    /** Whether it has joined the one before it. */
    private boolean joined;
    private int immediate;
    private int lengthBytes;
    /** How the memory part ended. */
    private int status;
    /** The request while it is posted, with the bytes of a send; else null. */
    private SendRequest posted;
    /** The bytes of a send that had to wait. */
    private MemorySegment kept;
    /** A queue that got a completion while it was armed, this request's or one that was left before, or null. */
    private SharedMemoryCompletionQueue unreported;
    /** How many bytes of a send the peer has; only peers that take it in pieces use this. */
    private int sentBytes;

    /** An empty notice. */
    Notice() {
    }

    /**
     * Takes a request over.
     *
     * @param request the request, with its pieces entered; used until {@link #keep} or the end of the post
     * @param howItEnded status of the memory part
     * @param signals whether it completes visibly when it succeeds
     */
    void fill(SendRequest request, int howItEnded, boolean signals) {
        id = request.workRequestId();
        opcode = request.opcode();
        signalled = signals;
        solicited = request.isSolicited();
        immediate = request.immediate();
        lengthBytes = (int) Gather.totalBytes(request);
        status = howItEnded;
        posted = request;
        sentBytes = 0;
        joined = false;
    }

    /** Becomes what another notice is, and takes the bytes that it kept; but it joins nothing, nor is it joined. */
    void takeOver(Notice other) {
        joined = false;
        id = other.id;
        opcode = other.opcode;
        signalled = other.signalled;
        solicited = other.solicited;
        immediate = other.immediate;
        lengthBytes = other.lengthBytes;
        status = other.status;
        sentBytes = other.sentBytes;
        MemorySegment mine = kept;
        kept = other.kept;
        other.kept = mine;
    }

    /** Copies what is needed later, so that the caller may reuse its memory now. */
    void keep() {
        if (isSend() && status == Status.SUCCESS) {
            if (kept == null || kept.byteSize() < lengthBytes) {
                kept = MemorySegment.ofArray(new byte[lengthBytes]);
            }
            Gather.copyTo(posted, 0, kept, 0, lengthBytes);
        }
        posted = null;
    }

    /** Lets go of the caller's memory after the post. */
    void release() {
        posted = null;
    }

    /** Copies a part of a send's bytes out. */
    void copyPayload(long from, MemorySegment target, long offset, long length) {
        if (posted != null) {
            Gather.copyTo(posted, from, target, offset, length);
        } else {
            MemorySegment.copy(kept, from, target, offset, length);
        }
    }

    /** Leaves the report of a peer's completions to whoever holds this, whether this was told or not. */
    void unreported(SharedMemoryCompletionQueue queue) {
        unreported = queue;
    }

    /** Takes over what has to be reported; null if nothing has. */
    SharedMemoryCompletionQueue takeUnreported() {
        SharedMemoryCompletionQueue queue = unreported;
        unreported = null;
        return queue;
    }

    /** {@code wr_id}. */
    long id() {
        return id;
    }

    /** Whether it completes visibly when it succeeds. */
    boolean isSignalled() {
        return signalled;
    }

    /** Whether it wakes a peer that waits for solicited completions only. */
    boolean isSolicited() {
        return solicited;
    }

    /** Whether a later request may join it before the peer has taken it. */
    boolean isOpen() {
        return isPostedWrite() && posted.isOpen();
    }

    private boolean isPostedWrite() {
        return posted != null && opcode == SendRequest.Opcode.WRITE_WITH_IMMEDIATE;
    }

    /** Whether it may join the message before it. */
    boolean isJoining() {
        return isPostedWrite() && posted.isJoining();
    }

    /** The immediate data of it and what it joins, if it may join that. */
    int joinedImmediate() {
        return posted.joinedImmediate();
    }

    /** Says that it has joined the one before it, so that the peer hears of both at once. */
    void join() {
        joined = true;
    }

    /** Whether it has joined the one before it. */
    boolean isJoined() {
        return joined;
    }

    /** The immediate data. */
    int immediate() {
        return immediate;
    }

    /** All bytes of the request. */
    int lengthBytes() {
        return lengthBytes;
    }

    /** How the memory part ended. */
    int status() {
        return status;
    }

    /** Replaces the status. */
    void status(int newStatus) {
        status = newStatus;
    }

    /** How many bytes of a send the peer has. */
    int sentBytes() {
        return sentBytes;
    }

    /** Says how many bytes of a send the peer has. */
    void sentBytes(int sent) {
        sentBytes = sent;
    }

    /** Whether the bytes go into the peer's receive. */
    boolean isSend() {
        return opcode == SendRequest.Opcode.SEND || opcode == SendRequest.Opcode.SEND_WITH_IMMEDIATE;
    }

    /** Whether it carries immediate data. */
    boolean hasImmediate() {
        return opcode == SendRequest.Opcode.SEND_WITH_IMMEDIATE || opcode == SendRequest.Opcode.WRITE_WITH_IMMEDIATE;
    }

    /** Whether the peer must know of it. */
    boolean concernsPeer() {
        return isSend() || hasImmediate();
    }

    /** What its completion says. */
    CompletionOpcode completionOpcode() {
        return switch (opcode) {
            case SEND, SEND_WITH_IMMEDIATE -> CompletionOpcode.SEND;
            case WRITE, WRITE_WITH_IMMEDIATE -> CompletionOpcode.WRITE;
            case READ -> CompletionOpcode.READ;
            case COMPARE_AND_SWAP -> CompletionOpcode.COMPARE_AND_SWAP;
            case FETCH_AND_ADD -> CompletionOpcode.FETCH_AND_ADD;
            case BIND_WINDOW -> CompletionOpcode.BIND_WINDOW;
            case INVALIDATE -> CompletionOpcode.INVALIDATE;
        };
    }
}
