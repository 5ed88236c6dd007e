package org.rdmasockets.verbs;

/**
 * A queue pair ({@code struct ibv_qp}), reliable and connected unless {@link #type} says otherwise. Posts never wait
 * for the transfer; how it ended comes through the completion queues.
 *
 * @since 0.1
 */
public interface QueuePair extends AutoCloseable {
    /** The result of a post that was taken. */
    int POSTED = 0;

    /** {@return {@code qp_num}, the number of this queue pair; devices give a number out again soon after a close} */
    int number();

    /** {@return the type it was made with, and so what it promises} */
    default QueuePairType type() {
        return QueuePairType.RELIABLE_CONNECTION;
    }

    /**
     * How long a datagram can be: what the port carries in one packet. A longer one is refused.
     *
     * @return most bytes of a request; 0 if this is no queue pair for datagrams, or its port is not set yet
     */
    default int maxDatagramBytes() {
        return 0;
    }

    /** {@return the configuration that was asked for} */
    QueuePairConfig config();

    /** {@return how many bytes can be sent inline, as the device granted} */
    int maxInlineBytes();

    /**
     * Posts a send, write, read or atomic ({@code ibv_post_send}). The request object may be reused at once; the
     * memory it names may be reused when it completes, or at once if it was sent inline.
     *
     * <p>A device may take more requests than {@link QueuePairConfig#maxSends()}, for which the completion queue has
     * room: the caller keeps the number of requests that have not completed within it.
     *
     * @param request the request
     * @return {@link #POSTED}, or an error number ({@link Errno#of}): {@code ENOMEM} when the queue is full,
     *         {@code EINVAL} when the request has too many elements or too much inline data or the device refuses, or
     *         is a datagram that is too long or has no open destination,
     *         {@code EOPNOTSUPP} when the device lacks the capability it needs, {@code ESHUTDOWN} when this queue pair
     *         is closed
     */
    int postSend(SendRequest request);

    /**
     * Posts a receive ({@code ibv_post_recv}). The request object may be reused at once, the memory it names when it
     * completes.
     *
     * @param request where to put the data
     * @return {@link #POSTED}, or an error number as for {@link #postSend}; {@code EINVAL} when the receives are those
     *         of a shared receive queue
     */
    int postReceive(ReceiveRequest request);

    /**
     * Posts a receive several times, under identifiers that follow each other, in one call of the device where it can
     * ({@code ibv_post_recv} of a chain). For receives that need no memory of their own.
     *
     * @param request where to put the data; its own identifier means nothing
     * @param firstWorkRequestId the identifier of the first; each further one has the next higher
     * @param count how many
     * @return {@link #POSTED}, or an error number as for {@link #postSend}; some may have been posted then
     */
    int postReceives(ReceiveRequest request, long firstWorkRequestId, int count);

    /**
     * Asks the device for the state ({@code ibv_query_qp}). <em>May block</em>.
     *
     * @return the state; {@link QueuePairState#UNKNOWN} if the device lacks {@link Capability#QUERY_STATE}
     * @throws VerbsException if the device refuses, or this queue pair is closed
     */
    QueuePairState queryState() throws VerbsException;

    /**
     * The state as far as this process knows without asking the device: the one it last moved the queue pair to, or
     * saw. The device may have moved it on since, to {@link QueuePairState#ERROR} above all.
     *
     * @return the state that is remembered; {@link QueuePairState#UNKNOWN} if none is
     */
    default QueuePairState state() {
        return QueuePairState.UNKNOWN;
    }

    /**
     * Asks the device for state and attributes ({@code ibv_query_qp}). <em>May block</em>.
     *
     * @return the attributes that are known in this state; a path once there is one; packet numbers move on with the
     *         traffic
     * @throws VerbsException if the device lacks {@link Capability#QUERY_STATE} or refuses, or this queue pair is
     *         closed
     */
    default QueuePairAttributes query() throws VerbsException {
        throw new VerbsException("ibv_query_qp", Errno.EOPNOTSUPP.number(), "qp=" + number(),
                "this queue pair does not tell its attributes (Capability.QUERY_STATE)");
    }

    /**
     * Changes state or attributes ({@code ibv_modify_qp}).
     *
     * @param attributes the attributes to change
     * @throws VerbsException if the device refuses the change, or this queue pair is closed
     */
    void modify(QueuePairAttributes attributes) throws VerbsException;

    /**
     * Moves to {@link QueuePairState#ERROR}: every outstanding request completes as
     * {@link WorkCompletionStatus#FLUSHED}. Harmless when closed or there already.
     *
     * @throws VerbsException if the device refuses
     */
    void fail() throws VerbsException;

    /**
     * Destroys the queue pair ({@code ibv_destroy_qp}). Completions that are in a completion queue by then stay there.
     * <em>May block</em>.
     */
    @Override
    void close();
}
