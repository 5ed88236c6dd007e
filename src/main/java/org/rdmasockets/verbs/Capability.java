package org.rdmasockets.verbs;

/**
 * Something that one device can do and another cannot; ask {@link Device#supports} before use.
 *
 * @since 0.1
 */
public enum Capability {
    /** RDMA write with immediate data, and immediate data with a send (InfiniBand and RoCE; not iWARP, RFC 5040). */
    IMMEDIATE_DATA,
    /** Remote compare-and-swap and fetch-and-add on 8 bytes. */
    ATOMICS,
    /** {@link CompletionQueue#resize} works. */
    RESIZE_COMPLETION_QUEUE,
    /** A receive may be posted without any scatter element. */
    EMPTY_RECEIVE,
    /**
     * {@link QueuePair#queryState} and {@link SharedReceiveQueue#queryLimit} tell what the device knows (soft-iWARP
     * fills in nothing, or does not have the call).
     */
    QUERY_STATE,
    /**
     * A send or write without a posted receive is retried by the device ("receiver not ready"); without this
     * capability it breaks the connection (iWARP, RFC 5041).
     */
    RECEIVER_NOT_READY_RETRY,
    /**
     * A successful send completion means that the peer's device has the data; on iWARP it means only "queued". Between
     * processes over shared memory it means that nothing but the peer's end keeps the data from it; only a send that is
     * longer than its receive may yet be refused.
     */
    COMPLETION_IS_DELIVERY,
    /** Queue pairs can be connected by {@link QueuePair#modify} alone, without a connection manager. */
    MANUAL_CONNECT,
    /**
     * A peer may be given access to any registered memory. Without it, a peer's process reaches only memory that came
     * from {@link ProtectionDomain#allocate}: its requests for other memory end as remote access errors.
     */
    REMOTE_ACCESS_TO_ANY_MEMORY,
    /** The device copies the data when a request is posted, so that the caller may reuse its memory at once. */
    COPIES_AT_POST,
    /** A post of a large request does the transfer inside the call; requests should stay at or below 64 KiB. */
    SOFTWARE_TRANSFER,
    /** {@link ProtectionDomain#createSharedReceiveQueue} works. */
    SHARED_RECEIVE_QUEUES,
    /**
     * {@link ProtectionDomain#createDatagramQueuePair} works. The shared memory device reaches the queue pairs of this
     * process only.
     */
    DATAGRAMS,
    /** {@link ProtectionDomain#allocateMemoryWindow} works, and {@link AccessFlag#MEMORY_WINDOW_BIND}. */
    MEMORY_WINDOWS,
    /**
     * A window keeps a peer within its part of the region. Without it, as on soft-RoCE, a window has a key, a queue
     * pair and access flags of its own, and the peer that has the key reaches the whole region.
     */
    MEMORY_WINDOW_BOUNDS,
    /** {@link AccessFlag#ZERO_BASED} works. */
    ZERO_BASED_MEMORY,
    /** {@link AccessFlag#ON_DEMAND} works. */
    ON_DEMAND_PAGING,
    /** {@link AccessFlag#HUGE_PAGES} means something to the device. */
    HUGE_PAGES
}
