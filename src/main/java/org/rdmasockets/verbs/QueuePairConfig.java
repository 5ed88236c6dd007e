package org.rdmasockets.verbs;

import java.util.Objects;

/**
 * Sizes of a reliable connected queue pair ({@code struct ibv_qp_init_attr}).
 *
 * @param sendQueue where completions of sends, writes, reads and atomics go
 * @param receiveQueue where completions of receives go; may be the same
 * @param maxSends most outstanding send requests, at least 1
 * @param maxReceives most outstanding receives, at least 1
 * @param maxSendElements most gather elements of a send request, at least 1
 * @param maxReceiveElements most scatter elements of a receive, at least 1
 * @param maxInlineBytes wanted size of inline data in bytes; a device that cannot do as much grants less
 * @param signalAll true to make every send request complete visibly, whatever its flag says
 * @since 0.1
 */
public record QueuePairConfig(CompletionQueue sendQueue, CompletionQueue receiveQueue, int maxSends, int maxReceives,
        int maxSendElements, int maxReceiveElements, int maxInlineBytes, boolean signalAll) {
    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if a size is below its least value
     */
    public QueuePairConfig {
        Objects.requireNonNull(sendQueue);
        Objects.requireNonNull(receiveQueue);
        if (maxSends < 1 || maxReceives < 1 || maxSendElements < 1 || maxReceiveElements < 1 || maxInlineBytes < 0) {
            throw new IllegalArgumentException("queue pair sizes must be positive: maxSends=" + maxSends
                    + ", maxReceives=" + maxReceives + ", maxSendElements=" + maxSendElements
                    + ", maxReceiveElements=" + maxReceiveElements + ", maxInlineBytes=" + maxInlineBytes);
        }
    }

    // By hand, because what the compiler makes spins classes in a JVM that starts.
    @Override
    public boolean equals(Object other) {
        return other instanceof QueuePairConfig that && sendQueue.equals(that.sendQueue)
                && receiveQueue.equals(that.receiveQueue) && maxSends == that.maxSends
                && maxReceives == that.maxReceives && maxSendElements == that.maxSendElements
                && maxReceiveElements == that.maxReceiveElements && maxInlineBytes == that.maxInlineBytes
                && signalAll == that.signalAll;
    }

    @Override
    public int hashCode() {
        int queues = sendQueue.hashCode() * 31 + receiveQueue.hashCode();
        int sizes = ((maxSends * 31 + maxReceives) * 31 + maxSendElements) * 31 + maxReceiveElements;
        return ((queues * 31 + sizes) * 31 + maxInlineBytes) * 2 + (signalAll ? 1 : 0);
    }

    /**
     * One queue for all completions, two gather elements, one scatter element, every request signalled: the simplest
     * that carries a byte stream.
     *
     * @param queue where all completions go
     * @param maxSends most outstanding send requests
     * @param maxReceives most outstanding receives
     * @param maxInlineBytes wanted size of inline data in bytes
     * @return the configuration
     */
    public static QueuePairConfig signalled(CompletionQueue queue, int maxSends, int maxReceives, int maxInlineBytes) {
        return new QueuePairConfig(queue, queue, maxSends, maxReceives, 2, 1, maxInlineBytes, true);
    }
}
