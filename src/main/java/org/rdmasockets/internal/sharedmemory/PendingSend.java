package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.sharedmemory.link.ReachableMemory;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.spi.SendHints;

/**
 * A request of a send queue whose memory part, if any, is done: the peer still has to be told, if it must know, and the
 * request has to complete. Reusable; guarded by the send queue.
 */
final class PendingSend {
    /** {@code wr_id}. */
    long id;
    /** Whether it completes visibly when it succeeds. */
    boolean signalled;
    /** Whether it has joined the one before it, so that the peer hears of both at once. */
    boolean joined;
    /** Whether the bytes go into the peer's receive. */
    boolean send;
    boolean hasImmediate;
    int immediate;
    /** All bytes of the request. */
    int lengthBytes;
    /** How the memory part ended, and then how the peer was told. */
    int status;
    /** How many bytes of a send the peer has; only peers that take it in pieces use this. */
    int sentBytes;
    /** While it is posted: whether a later request may join it before the peer has taken it. */
    boolean open;
    /** While it is posted: whether it may join the message before it; then also the immediate data of both. */
    boolean joining;
    int joinedImmediate;
    /** While it is posted: where a write goes whose bytes travel in its entry; else null. */
    ReachableMemory inlineTarget;
    private SendRequest.Opcode opcode;
    /** The request while it is posted, with the bytes of a send; else null. */
    private SendRequest posted;
    /** The bytes of a send that had to wait. */
    private MemorySegment kept;
    /**
     * A queue that got a completion while it was armed, of this request or one that was left before; or null. The
     * caller has to report it, whether the peer was told of this or not.
     */
    SharedMemoryCompletionQueue unreported;

    /**
     * Takes over a request whose pieces are entered, until {@link #keep} or the end of the post; {@code signals} if it
     * completes visibly.
     */
    void fill(SendRequest request, SendRequest.Opcode what, long bytes, int howItEnded, boolean signals) {
        id = request.workRequestId();
        opcode = what;
        signalled = signals;
        immediate = request.immediate();
        lengthBytes = (int) bytes;
        status = howItEnded;
        posted = request;
        sentBytes = 0;
        joined = false;
        boolean tellingWrite = opcode == SendRequest.Opcode.WRITE_WITH_IMMEDIATE;
        send = opcode == SendRequest.Opcode.SEND || opcode == SendRequest.Opcode.SEND_WITH_IMMEDIATE;
        hasImmediate = tellingWrite || opcode == SendRequest.Opcode.SEND_WITH_IMMEDIATE;
        int hints = tellingWrite ? request.hints() : 0;
        open = (hints & SendHints.OPEN) != 0;
        joining = (hints & SendHints.JOINING) != 0;
        joinedImmediate = joining ? request.joinedImmediate() : 0;
    }

    /** Becomes a copy of another notice, and takes the bytes that it kept; joins no message, and none joins this. */
    void takeOver(PendingSend other) {
        joined = false;
        open = false;
        joining = false;
        id = other.id;
        opcode = other.opcode;
        send = other.send;
        hasImmediate = other.hasImmediate;
        signalled = other.signalled;
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
        if (send && status == Status.SUCCESS) {
            if (kept == null || kept.byteSize() < lengthBytes) {
                kept = MemorySegment.ofArray(new byte[lengthBytes]);
            }
            ScatterGatherCopier.copyTo(posted, 0, kept, 0, lengthBytes);
        }
        posted = null;
    }

    /** Forgets the caller's memory after the post. */
    void release() {
        posted = null;
        inlineTarget = null;
    }

    /** Where a write goes, while it is posted: an address of the peer. */
    long remoteAddress() {
        return posted.remoteAddress();
    }

    /** The key for that. */
    int remoteKey() {
        return posted.remoteKey();
    }

    /** Copies the bytes of a write that were going to travel in its entry. */
    void write() {
        copyPayload(0, inlineTarget.segment(), posted.remoteAddress() - inlineTarget.address(), lengthBytes);
        inlineTarget = null;
    }

    /** Copies a part of the bytes out: those of a send, or of any request while it is posted. */
    void copyPayload(long from, MemorySegment target, long offset, long length) {
        if (posted != null) {
            ScatterGatherCopier.copyTo(posted, from, target, offset, length);
        } else {
            MemorySegment.copy(kept, from, target, offset, length);
        }
    }

    /** Takes over what has to be reported; null if nothing has. */
    SharedMemoryCompletionQueue takeUnreported() {
        SharedMemoryCompletionQueue queue = unreported;
        unreported = null;
        return queue;
    }

    /** The opcode of its completion. */
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
