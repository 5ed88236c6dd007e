package org.rdmasockets.internal.sharedmemory;

import org.rdmasockets.internal.sharedmemory.link.ReachableMemory;
import org.rdmasockets.verbs.AccessFlag;

/**
 * The other end of a connection, as the send queue of this end sees it: memory to copy to and from, and a receive queue
 * to tell. Called by one thread at a time unless it says otherwise, under the lock of the send queue.
 */
interface Peer {
    /** Whether the other end still takes requests; any thread. */
    boolean isAlive();

    /**
     * Finds memory of the other end that a request may touch, and enters it; null if that is not allowed. {@link
     * #leave} follows.
     */
    ReachableMemory memory(int key, long address, long length, AccessFlag needed);

    /**
     * Ends the access, and what {@link #beginWrite} began unless {@link #tell} has; but this may stay in memory that
     * the next request may use, until {@link #leaveAll}.
     */
    default void leave(ReachableMemory entered) {
        entered.leave();
    }

    /** Leaves memory in which this end has stayed: the next request may be long in coming. */
    default void leaveAll() {}

    /**
     * Gets ready for a request whose few bytes are about to be written, and whose {@link #tell} follows at once: so
     * bytes and message go to the other processor together. {@link #leave} follows.
     */
    default void beginWrite() {}

    /**
     * Most bytes, together, of the first relaxed writes that {@link #tell} sends along: so a connection that says
     * little does not make this process map its peer's memory.
     */
    default int mostInlineBytes() {
        return 0;
    }

    /**
     * Tells the other end of a request, which takes its next receive; {@code messages} wait, this one included. Returns
     * {@link Status#SUCCESS} when it was told; {@link Status#NOT_READY} if the other end has no receive, or
     * {@link Status#NO_ROOM}: then {@link SendQueue#resume} is called when that may have changed; else how the request
     * failed.
     */
    int tell(PendingSend notice, int messages);

    /**
     * Takes in what the other end told before it refused: a failure must not overtake it. Without locks. Does nothing
     * within this process: a queue pair that fails takes that in before it completes the rest.
     */
    default void catchUp() {}

    /** Breaks the other end's queue pair because a request found it at fault; any thread, no lock held. */
    void fail();

    /** Says that the queue pair of this end takes nothing more, if the other end does not see it; as {@link #fail}. */
    default void ownFailed() {}

    /** Tells the other end, which asked, that there are receives again, unless a slot tells it; as {@link #fail}. */
    default void receivesPosted() {}

    /** How long the other end wants to be waited for when it has no receive, per retry, in nanoseconds. */
    long receiverNotReadyNanos();
}
