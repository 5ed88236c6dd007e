package org.rdmasockets.endpoint;

/**
 * Where the memory of local regions comes from.
 *
 * @since 0.1
 */
public enum MemoryStrategy {
    /**
     * Small regions are pieces of larger registered blocks, so that most allocations cost no system call. Regions that
     * a peer may reach are registered by themselves nevertheless: a key opens all of its registration.
     */
    POOLED,
    /** Every region is registered by itself, which takes some ten to some hundred microseconds each time. */
    DIRECT
}
