package org.rdmasockets.verbs;

/**
 * A reusable batch of completions ({@code struct ibv_wc} array), filled by {@link CompletionQueue#poll}. Not for use
 * by two threads at a time. Indexes run from 0 to what the poll returned, exclusive. When a status is not
 * {@link WorkCompletionStatus#SUCCESS}, only the request identifier, the status, the queue pair number and the vendor
 * code mean anything.
 *
 * @since 0.1
 */
public interface WorkCompletions {
    /** {@return how many completions one poll can take} */
    int capacity();

    /**
     * The identifier given with the request.
     *
     * @param index the completion's index
     * @return {@code wr_id}
     */
    long workRequestId(int index);

    /**
     * How the request ended, as the device's number: 0 is success. For its name see
     * {@link WorkCompletionStatus#of(int)}.
     *
     * @param index the completion's index
     * @return {@code status}
     */
    int status(int index);

    /**
     * The kind of request that ended.
     *
     * @param index the completion's index
     * @return the opcode; {@link CompletionOpcode#UNKNOWN} for a number without a name
     */
    CompletionOpcode opcode(int index);

    /**
     * How many bytes arrived; for receives only.
     *
     * @param index the completion's index
     * @return {@code byte_len}
     */
    int lengthBytes(int index);

    /**
     * Tells whether immediate data came with it.
     *
     * @param index the completion's index
     * @return true if {@link #immediate} means something
     */
    boolean hasImmediate(int index);

    /**
     * The immediate data, in host order.
     *
     * @param index the completion's index
     * @return the 32 bits, as {@link SendRequest#immediate} took them
     */
    int immediate(int index);

    /**
     * The queue pair.
     *
     * @param index the completion's index
     * @return {@code qp_num}
     */
    int queuePairNumber(int index);

    /**
     * The queue pair that sent a datagram.
     *
     * @param index the completion's index
     * @return {@code src_qp}, for datagrams that were received
     */
    default int sourceQueuePairNumber(int index) {
        return 0;
    }

    /**
     * Tells whether the first {@link AddressHandle#ROUTING_HEADER_BYTES} bytes of a datagram that was received say
     * where it is from ({@code IBV_WC_GRH}); they stand before the data in any case.
     *
     * @param index the completion's index
     * @return true if they do
     */
    default boolean hasRoutingHeader(int index) {
        return false;
    }

    /**
     * The vendor's own error code.
     *
     * @param index the completion's index
     * @return {@code vendor_err}
     */
    int vendorError(int index);
}
