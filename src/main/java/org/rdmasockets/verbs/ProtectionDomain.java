package org.rdmasockets.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * A protection domain ({@code struct ibv_pd}): memory regions and queue pairs that belong together.
 *
 * @since 0.1
 */
public interface ProtectionDomain extends AutoCloseable {
    /** {@return the device} */
    Device device();

    /**
     * Registers native memory ({@code ibv_reg_mr}): its pages are pinned and get keys. The segment must stay alive
     * until the region is closed; the region holds it strongly, which is enough for memory of an arena that is not
     * closed by hand. <em>May block</em>.
     *
     * @param memory native memory of at least one byte
     * @param access the access that it allows
     * @return a new region
     * @throws VerbsException if the device refuses; {@link Errno#ENOMEM} when the memlock limit is too small,
     *         {@link Errno#EOPNOTSUPP} when it lacks the capability for a flag
     * @throws IllegalArgumentException if the memory is empty or on the heap
     */
    MemoryRegion register(MemorySegment memory, Set<AccessFlag> access) throws VerbsException;

    /**
     * Allocates native memory where this device can reach it best and registers it. Every device can give a peer
     * access to such memory; to other memory only a device with {@link Capability#REMOTE_ACCESS_TO_ANY_MEMORY}.
     * <em>May block</em>.
     *
     * @param bytes how much is needed, at least 1
     * @param access the access that it allows
     * @return a new region of at least as many bytes, all zero, aligned to 4,096 bytes; its memory is gone, or
     *         another's, as soon as the region is closed
     * @throws VerbsException if the device refuses; {@link Errno#ENOMEM} when there is not enough memory, or the
     *         memlock limit is too small
     * @throws IllegalArgumentException if bytes is less than 1
     */
    MemoryRegion allocate(long bytes, Set<AccessFlag> access) throws VerbsException;

    /**
     * Registers memory of another device ({@code ibv_reg_dmabuf_mr}), which the processor need not reach: the region
     * has no segment ({@link MemorySegment#NULL}), and cannot be sent inline. <em>May block</em>.
     *
     * @param buffer the memory
     * @param access the access that it allows
     * @return a new region
     * @throws VerbsException {@link Errno#EOPNOTSUPP} if the device cannot reach such memory; else if it refuses, for
     *         example because the descriptor is of something else
     */
    default MemoryRegion registerDmaBuffer(DmaBuffer buffer, Set<AccessFlag> access) throws VerbsException {
        throw new VerbsException("ibv_reg_dmabuf_mr", Errno.EOPNOTSUPP.number(), "device=" + device() + ", " + buffer,
                "this device cannot reach the memory of another one (DMA-BUF)");
    }

    /**
     * Makes a reliable connected queue pair ({@code ibv_create_qp}) that is connected by hand, with
     * {@link QueuePair#modify}. For one that the connection manager connects see
     * {@link ConnectionIdentifier#createQueuePair}. <em>May block</em>.
     *
     * @param config sizes and completion queues
     * @return a new queue pair in state {@link QueuePairState#RESET}
     * @throws VerbsException if the device refuses, or a completion queue has no room for its requests
     */
    QueuePair createQueuePair(QueuePairConfig config) throws VerbsException;

    /**
     * Makes a shared receive queue ({@code ibv_create_srq}). <em>May block</em>.
     *
     * @param maxReceives most receives, at least 1
     * @param maxElements most scatter elements of a receive, at least 1
     * @return a new queue
     * @throws VerbsException if the device lacks {@link Capability#SHARED_RECEIVE_QUEUES} or refuses
     * @throws IllegalArgumentException if a number is less than 1
     */
    default SharedReceiveQueue createSharedReceiveQueue(int maxReceives, int maxElements) throws VerbsException {
        throw new VerbsException("ibv_create_srq", Errno.EOPNOTSUPP.number(), "device=" + device(),
                "this device has no shared receive queues (Capability.SHARED_RECEIVE_QUEUES)");
    }

    /**
     * Makes a reliable connected queue pair that takes its receives from a shared receive queue; else as
     * {@link #createQueuePair(QueuePairConfig)}. That queue should be of this domain: soft-RoCE and soft-iWARP look its
     * memory up in the domain of the queue pair.
     *
     * @param config sizes and completion queues; those of receives are the shared queue's, so they count for nothing
     * @param receives where receives are posted
     * @return a new queue pair, which takes no receives itself
     * @throws VerbsException if the device refuses, or a completion queue has no room for its requests; of the receives
     *         one queue needs room for {@link SharedReceiveQueue#maxReceives()} once, however many queue pairs report
     *         to it
     */
    default QueuePair createQueuePair(QueuePairConfig config, SharedReceiveQueue receives) throws VerbsException {
        throw new VerbsException("ibv_create_qp", Errno.EOPNOTSUPP.number(), "device=" + device(),
                "this device has no shared receive queues (Capability.SHARED_RECEIVE_QUEUES)");
    }

    /**
     * Makes a queue pair for datagrams ({@code ibv_create_qp} with {@code IBV_QPT_UD}). It needs no peer: move it by
     * {@link QueuePair#modify} to {@link QueuePairState#INIT} with port, partition key index and
     * {@link QueuePairAttributes.Field#QUEUE_KEY}, to {@link QueuePairState#READY_TO_RECEIVE}, and to
     * {@link QueuePairState#READY_TO_SEND} with a packet number. Needs {@link Capability#DATAGRAMS}. <em>May
     * block</em>.
     *
     * @param config sizes and completion queues
     * @return a new queue pair in state {@link QueuePairState#RESET}
     * @throws VerbsException if the device lacks the capability or refuses, or a completion queue has no room for its
     *         requests
     */
    default QueuePair createDatagramQueuePair(QueuePairConfig config) throws VerbsException {
        throw new VerbsException("ibv_create_qp", Errno.EOPNOTSUPP.number(), "device=" + device(),
                "this device has no datagrams (Capability.DATAGRAMS)");
    }

    /**
     * Makes a handle from what is known of a peer ({@code ibv_create_ah}). <em>May block</em>.
     *
     * @param portNumber the port to send by
     * @param path where the peer is
     * @return a new handle
     * @throws VerbsException if the device lacks {@link Capability#DATAGRAMS} or refuses
     */
    default AddressHandle createAddressHandle(int portNumber, QueuePairAttributes.Path path) throws VerbsException {
        throw new VerbsException("ibv_create_ah", Errno.EOPNOTSUPP.number(), "device=" + device(),
                "this device has no datagrams (Capability.DATAGRAMS)");
    }

    /**
     * Makes a handle for an answer to a datagram that was received ({@code ibv_create_ah_from_wc}). <em>May block</em>.
     *
     * @param portNumber the port that it came to
     * @param batch with the completion of the datagram; a batch of this provider
     * @param index the completion's index in the batch
     * @param received the memory that the datagram was received in, at least the routing header at its beginning
     * @return a new handle
     * @throws VerbsException if the device lacks {@link Capability#DATAGRAMS} or refuses, or there is no routing header
     *         where one is needed
     * @throws IndexOutOfBoundsException if the memory is shorter than the header
     */
    default AddressHandle createAddressHandle(int portNumber, WorkCompletions batch, int index, MemorySegment received)
            throws VerbsException {
        throw new VerbsException("ibv_create_ah_from_wc", Errno.EOPNOTSUPP.number(), "device=" + device(),
                "this device has no datagrams (Capability.DATAGRAMS)");
    }

    /**
     * Allocates a memory window of type 2 ({@code ibv_alloc_mw}). <em>May block</em>.
     *
     * @return a window that is not bound
     * @throws VerbsException if the device lacks {@link Capability#MEMORY_WINDOWS} or has no more
     */
    default MemoryWindow allocateMemoryWindow() throws VerbsException {
        throw new VerbsException("ibv_alloc_mw", Errno.EOPNOTSUPP.number(), "device=" + device(),
                "this device has no memory windows of type 2 (Capability.MEMORY_WINDOWS)");
    }

    /** Deallocates the domain ({@code ibv_dealloc_pd}) as soon as its last child is closed. <em>May block</em>. */
    @Override
    void close();
}
