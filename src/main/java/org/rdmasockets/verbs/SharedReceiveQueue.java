package org.rdmasockets.verbs;

/**
 * A shared receive queue ({@code struct ibv_srq}): many queue pairs take their receives from it, so that a server posts
 * for the messages it expects, not for the peers it has. A receive belongs to the queue until a message takes it, and
 * completes then in the receive completion queue of the queue pair that the message came to, whose number the
 * completion carries. Needs {@link Capability#SHARED_RECEIVE_QUEUES}.
 *
 * <p>When a queue pair fails, the receives are not flushed: they are not its own. A receive that it was filling then is
 * lost, or completes as failed.
 *
 * @since 0.1
 */
public interface SharedReceiveQueue extends AutoCloseable {
    /** {@return the domain whose regions the receives name} */
    ProtectionDomain domain();

    /**
     * How many receives fit. The caller counts a receive as posted until its completion was polled, because the
     * completion queues have room for as many.
     *
     * @return most receives, as asked for
     */
    int maxReceives();

    /** {@return how many scatter elements a receive can have, as asked for} */
    int maxElements();

    /**
     * Posts a receive ({@code ibv_post_srq_recv}). The request object may be reused at once, the memory it names when
     * it completes.
     *
     * @param request where to put the data
     * @return {@link QueuePair#POSTED}, or an error number as for {@link QueuePair#postReceive}
     */
    int postReceive(ReceiveRequest request);

    /**
     * Asks for {@link DeviceEvent.Type#SHARED_RECEIVE_QUEUE_LIMIT} when fewer receives than this are left
     * ({@code ibv_modify_srq} with {@code IBV_SRQ_LIMIT}), once: then the limit has to be set again.
     *
     * @param receives the limit, 1 to {@link #maxReceives()}, or 0 for none
     * @throws VerbsException if the device refuses, or this is closed
     */
    void limit(int receives) throws VerbsException;

    /**
     * Asks the device for the limit ({@code ibv_query_srq}).
     *
     * @return the limit; 0 if there is none; some devices keep telling one that was reached
     * @throws VerbsException if the device does not tell ({@link Capability#QUERY_STATE}) or refuses, or this is closed
     */
    int queryLimit() throws VerbsException;

    /**
     * Tells whether the limit was reached since it was last set, as far as the device's events were taken
     * ({@link Device#drainEvents}): the whole process shares those, and any thread that takes this one makes it known
     * here.
     *
     * @return true once the event was taken
     */
    boolean isLimitReached();

    /**
     * Destroys the queue ({@code ibv_destroy_srq}) as soon as its last queue pair is closed; its receives are
     * forgotten. <em>May block</em>.
     */
    @Override
    void close();
}
