package org.rdmasockets.provider.sharedmemory.link;

import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.VerbsException;

/**
 * The connection of this process with another one of the same user and host: a ring of entries each way, memory regions
 * announced each way, doorbells, and word of the peer's death.
 *
 * <p>Locks, in the order in which they are taken: the consumer lock (while draining), locks of the users, the lock of
 * {@link RingWriter}, the socket's. Any thread may call anything; none of it waits for the peer.
 */
public interface Link extends AutoCloseable {
    /**
     * Who gets what comes.
     *
     * @return what {@link LinkOwner#onLink} returned for this link
     */
    LinkHandler handler();

    /**
     * The random number that the peer's process took at its start.
     *
     * @return the peer's nonce
     */
    long peerProcess();

    /**
     * Whether entries can still come and go.
     *
     * @return false as soon as the link failed, which may be before {@link LinkHandler#onClosed}
     */
    boolean isOpen();

    /**
     * Hands entries to the handler, oldest first, waiting for another thread that drains. Takes no system call and
     * allocates nothing. Works on a dead link, too, until {@link #close}.
     *
     * @param limit most entries to take
     * @return how many were taken; fewer than the limit means that the ring was empty
     */
    int drain(int limit);

    /**
     * As {@link #drain}, but leaves at once if another thread drains; not enough after {@link #arm}.
     *
     * @param limit most entries to take
     * @return how many were taken
     */
    int tryDrain(int limit);

    /**
     * Makes the peer ring at its next entry, once; {@link #drain} after this, for entries that came before. A new link
     * is armed.
     */
    void arm();

    /**
     * Puts entries into the ring.
     *
     * @return the one writer of this link
     */
    RingWriter writer();

    /**
     * Takes a slot for a queue pair. Its count is 0.
     *
     * @return a slot
     * @throws VerbsException {@code ENOSPC} if all are taken, {@code ECONNRESET} if the link is dead
     */
    LinkSlot openSlot() throws VerbsException;

    /**
     * Gives the peer access to a region. An entry published after this returned finds it there: if the socket has no
     * room, the ring is held up until it has. Announcing a region twice on one link is harmless.
     *
     * @param region open memory
     * @param remoteKey the key that names it, not used for another region of this process that is announced
     * @param access what the peer may do
     * @throws VerbsException {@code ENOSPC} if there are too many or too large ones, {@code ECONNRESET} if the link is
     *         dead, {@code ESHUTDOWN} if the region is closed
     */
    void announce(SharedRegion region, int remoteKey, Set<AccessFlag> access) throws VerbsException;

    /**
     * Finds a region that the peer announced, reading announcements that have arrived if it is not known yet. Takes no
     * system call and allocates nothing when it is known.
     *
     * @param remoteKey the key that names it
     * @return the region, or null if there is none of that key
     */
    PeerRegion peerRegion(int remoteKey);

    /**
     * Ends the link because of what the peer did or because of a failure here; {@link LinkHandler#onClosed} follows in
     * the hub's thread. The first reason stays.
     *
     * @param reason why, as a sentence for a person
     */
    void fail(String reason);

    /** Ends the link, and frees its memory once the last slot is closed. The handler hears nothing more. Idempotent. */
    @Override
    void close();
}
