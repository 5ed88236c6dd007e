package org.rdmasockets.verbs;

/**
 * The limits of a device ({@code ibv_query_device}).
 *
 * @param firmware firmware version, may be empty
 * @param ports number of physical ports, numbered from 1
 * @param maxMemoryRegionBytes largest region that can be registered, in bytes
 * @param maxQueuePairs most queue pairs
 * @param maxWorkRequests most work requests of one queue of a queue pair
 * @param maxScatterGather most scatter or gather elements of a request
 * @param maxCompletionQueues most completion queues
 * @param maxCompletionQueueEntries most entries of one completion queue
 * @param maxMemoryRegions most memory regions
 * @param maxProtectionDomains most protection domains
 * @param maxReadsAsTarget most reads and atomics that a queue pair serves at once ({@code max_qp_rd_atom})
 * @param maxReadsAsInitiator most reads and atomics that a queue pair has outstanding ({@code max_qp_init_rd_atom})
 * @since 0.1
 */
public record DeviceAttributes(String firmware, int ports, long maxMemoryRegionBytes, int maxQueuePairs,
        int maxWorkRequests, int maxScatterGather, int maxCompletionQueues, int maxCompletionQueueEntries,
        int maxMemoryRegions, int maxProtectionDomains, int maxReadsAsTarget, int maxReadsAsInitiator) {}
