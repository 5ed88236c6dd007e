package org.rdmasockets.provider.sharedmemory.link;

/**
 * A queue pair's place in the memory of a link: how many receives it has posted, for the peer to see, and the peer's
 * own count. So a peer knows before it sends that there is a receive, and one queue pair that has none never holds up
 * the ring for others.
 *
 * <p>A slot keeps the link's memory mapped, so every call is safe until {@link #close}; calls must not overlap with it,
 * which the queue pair's lock ensures. Counts wrap around: compare by difference.
 */
public interface LinkSlot extends AutoCloseable {
    /**
     * The number by which the peer names this queue pair in entries and in {@link #connect}.
     *
     * @return 0 to {@link #MOST} - 1
     */
    int index();

    /** How many slots each side of a link has. */
    int MOST = 1 << 14;

    /**
     * Names the peer's slot, as the peer told it.
     *
     * @param peerIndex the peer's number
     * @return false if it is out of range, which only a hostile peer says
     */
    boolean connect(int peerIndex);

    /**
     * Publishes how many receives were posted here since the slot was opened, and rings if the peer starves.
     *
     * @param cumulativeCount the count, wrapping around
     */
    void receivesPosted(int cumulativeCount);

    /**
     * How many receives the peer has posted, as it says. A hostile peer may say anything: it is a hint on when to send,
     * and what is sent without a receive is the peer's own loss.
     *
     * @return the count, wrapping around; 0 before {@link #connect}
     */
    int peerReceivesPosted();

    /**
     * Asks the peer to ring when it posts the next receive; look at {@link #peerReceivesPosted} again after this.
     */
    void starve();

    /** Gives the slot back. Idempotent. */
    @Override
    void close();
}
