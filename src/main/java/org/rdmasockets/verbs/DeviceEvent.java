package org.rdmasockets.verbs;

/**
 * An asynchronous event of a device ({@code struct ibv_async_event}). A shared receive queue that reached its limit
 * says so itself, too ({@link SharedReceiveQueue#isLimitReached}).
 *
 * @param type the kind of event
 * @param queuePairNumber the queue pair it is about, or 0
 * @param completionQueue the completion queue it is about, or null
 * @param portNumber the port it is about, or 0
 * @param number the device's own number of the event type, for {@link Type#UNKNOWN}
 * @param sharedReceiveQueue the shared receive queue it is about, or null
 * @since 0.1
 */
public record DeviceEvent(Type type, int queuePairNumber, CompletionQueue completionQueue, int portNumber,
        int number, SharedReceiveQueue sharedReceiveQueue) {

    /**
     * An event that is not about a shared receive queue.
     *
     * @param type the kind of event
     * @param queuePairNumber the queue pair it is about, or 0
     * @param completionQueue the completion queue it is about, or null
     * @param portNumber the port it is about, or 0
     * @param number the device's own number of the event type
     */
    public DeviceEvent(Type type, int queuePairNumber, CompletionQueue completionQueue, int portNumber, int number) {
        this(type, queuePairNumber, completionQueue, portNumber, number, null);
    }

    /**
     * Kind of event ({@code enum ibv_event_type}).
     *
     * @since 0.1
     */
    public enum Type {
        /** A completion queue overran or broke: its completions are lost. */
        COMPLETION_QUEUE_ERROR,
        /** A queue pair broke. */
        QUEUE_PAIR_FATAL,
        /** A queue pair got a bad request. */
        QUEUE_PAIR_REQUEST_ERROR,
        /** A queue pair saw an access violation. */
        QUEUE_PAIR_ACCESS_ERROR,
        /** A first message arrived before the connection was established. */
        COMMUNICATION_ESTABLISHED,
        /** The send queue of a queue pair is drained. */
        SEND_QUEUE_DRAINED,
        /** A queue pair moved to its alternate path. */
        PATH_MIGRATED,
        /** A queue pair could not move to its alternate path. */
        PATH_MIGRATION_FAILED,
        /** A queue pair that failed will take no more receives of its shared receive queue. */
        LAST_SHARED_RECEIVE,
        /** A shared receive queue broke: its queue pairs receive nothing more. */
        SHARED_RECEIVE_QUEUE_ERROR,
        /** A shared receive queue has fewer receives than its limit. */
        SHARED_RECEIVE_QUEUE_LIMIT,
        /** A work queue broke. */
        WORK_QUEUE_FATAL,
        /** The device is broken, or was removed. */
        DEVICE_FATAL,
        /** A port became active. */
        PORT_ACTIVE,
        /** A port lost its link. */
        PORT_ERROR,
        /** The local identifier of a port changed. */
        LID_CHANGE,
        /** The partition key table of a port changed. */
        PARTITION_KEY_CHANGE,
        /** The subnet manager of a port changed. */
        SUBNET_MANAGER_CHANGE,
        /** The subnet manager of a port wants its clients to register again. */
        CLIENT_REREGISTER,
        /** The GID table of a port changed. */
        GID_CHANGE,
        /** Something else that needs no action. */
        OTHER,
        /** A number that has no name here. */
        UNKNOWN
    }
}
