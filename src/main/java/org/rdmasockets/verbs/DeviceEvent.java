package org.rdmasockets.verbs;

/**
 * An asynchronous event of a device ({@code struct ibv_async_event}).
 *
 * @param type what happened
 * @param queuePairNumber the queue pair it is about, or 0
 * @param completionQueue the completion queue it is about, or null
 * @param portNumber the port it is about, or 0
 * @param number the device's own number of the event type, for {@link Type#UNKNOWN}
 */
public record DeviceEvent(Type type, int queuePairNumber, CompletionQueue completionQueue, int portNumber,
        int number) {

    /** Kind of event ({@code enum ibv_event_type}). */
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
        /** The device is broken, or was removed. */
        DEVICE_FATAL,
        /** A port became active. */
        PORT_ACTIVE,
        /** A port lost its link. */
        PORT_ERROR,
        /** The GID table of a port changed. */
        GID_CHANGE,
        /** Something else that needs no action: path migration, LID, partition key or client changes. */
        OTHER,
        /** A number that has no name here. */
        UNKNOWN
    }
}
