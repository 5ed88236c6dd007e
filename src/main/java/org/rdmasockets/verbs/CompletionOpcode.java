package org.rdmasockets.verbs;

/**
 * The kind of request that a completion ends ({@code enum ibv_wc_opcode}).
 *
 * @since 0.1
 */
public enum CompletionOpcode {
    /** A send, with or without immediate data. */
    SEND,
    /** An RDMA write, with or without immediate data. */
    WRITE,
    /** An RDMA read. */
    READ,
    /** A compare-and-swap. */
    COMPARE_AND_SWAP,
    /** A fetch-and-add. */
    FETCH_AND_ADD,
    /** A memory window was bound. */
    BIND_WINDOW,
    /** A key of ours was made invalid. */
    INVALIDATE,
    /** A receive, consumed by the peer's send. */
    RECEIVE,
    /** A receive, consumed by the peer's RDMA write with immediate data. */
    RECEIVE_WRITE_WITH_IMMEDIATE,
    /** A number that has no name here. */
    UNKNOWN;

    /** {@return whether this is one of the two receives rather than a request of our own} */
    public boolean isReceive() {
        return this == RECEIVE || this == RECEIVE_WRITE_WITH_IMMEDIATE;
    }
}
