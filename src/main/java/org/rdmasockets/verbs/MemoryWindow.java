package org.rdmasockets.verbs;

/**
 * A memory window of type 2 ({@code struct ibv_mw}): gives the peer of one queue pair access to a part of a memory
 * region, and takes it away again, by requests in the send queue, without a system call and without touching the
 * region. Needs {@link Capability#MEMORY_WINDOWS}; whether it keeps the peer within that part is
 * {@link Capability#MEMORY_WINDOW_BOUNDS}.
 *
 * <p>It is bound by {@link SendRequest#bind} and taken back by {@link SendRequest#invalidate}; only then it can be
 * bound again. Each binding has another key, so that a peer that keeps an old one reaches nothing.
 *
 * @since 0.1
 */
public interface MemoryWindow extends AutoCloseable {
    /** {@return the domain that the regions and queue pairs belong to} */
    ProtectionDomain domain();

    /**
     * {@return {@code rkey} for the peer, once the last bind that was posted has completed; after each post of a bind
     * another one}
     */
    int remoteKey();

    /** Deallocates the window ({@code ibv_dealloc_mw}), before the region it is bound to. <em>May block</em>. */
    @Override
    void close();
}
