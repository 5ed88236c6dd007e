package org.rdmasockets.internal.waiting;

import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * One thing that arrived for a connection: a work completion ({@code struct ibv_wc}) or a token. Work completions are
 * slots that belong to their shard and are reused, so they mean something only until
 * {@link CompletionClient#apply} returns. Written under the shard's cqLock, read under the inbox's protocol lock; the
 * inbox's queue carries it from one to the other.
 */
public final class Completion {
    /** More than any backlog that matters. */
    private static final int BYTES_OF_SEND = 1 << 20;

    final Object token;
    private long workRequestId;
    private int status;
    private CompletionOpcode opcode = CompletionOpcode.UNKNOWN;
    private int lengthBytes;
    private int immediate;
    private boolean hasImmediate;
    /** Whether the peer has sent something. */
    boolean isReceive;
    /** How much arrived; a send does not tell what was written before it, so it counts as much. */
    int arrivedBytes;

    Completion() {
        this(null);
    }

    /** A token, or with null an empty slot. */
    Completion(Object token) {
        this(token, false);
    }

    /** A token that stands for what a peer has sent, or not. */
    Completion(Object token, boolean isReceive) {
        this.token = token;
        this.isReceive = isReceive;
    }

    /** Copies one completion out of a batch; of a failed one only the parts that the device fills. */
    void fill(WorkCompletions batch, int index) {
        workRequestId = batch.workRequestId(index);
        status = batch.status(index);
        boolean failed = status != 0;
        opcode = failed ? CompletionOpcode.UNKNOWN : batch.opcode(index);
        isReceive = opcode.isReceive();
        lengthBytes = isReceive ? batch.lengthBytes(index) : 0;
        arrivedBytes = opcode == CompletionOpcode.RECEIVE ? BYTES_OF_SEND : lengthBytes;
        hasImmediate = !failed && batch.hasImmediate(index);
        immediate = hasImmediate ? batch.immediate(index) : 0;
    }

    /**
     * The identifier given with the request: its high 32 bits are {@link CompletionInbox#workRequestIdBase()}. Gives
     * {@code wr_id}; 0 for a token.
     */
    public long workRequestId() {
        return workRequestId;
    }

    /** How the request ended: {@code status}, 0 is success; 0 for a token. */
    public int status() {
        return status;
    }

    /**
     * The kind of request that ended: the opcode; {@link CompletionOpcode#UNKNOWN} for a token and for a failed
     * request, whose opcode the device does not tell.
     */
    public CompletionOpcode opcode() {
        return opcode;
    }

    /** How many bytes arrived: {@code byte_len} of a receive, otherwise 0. */
    public int lengthBytes() {
        return lengthBytes;
    }

    /** Tells whether immediate data came with it: true if {@link #immediate} means something. */
    public boolean hasImmediate() {
        return hasImmediate;
    }

    /** The immediate data, in host order: the 32 bits, 0 if there were none. */
    public int immediate() {
        return immediate;
    }

    /**
     * Something that came by {@link CompletionInbox#offerToken} or {@link CompletionInbox#drainThenOffer}, or a
     * {@link Throwable} when nothing more can arrive because the poller or the completion queue has failed.
     */
    public Object token() {
        return token;
    }
}
