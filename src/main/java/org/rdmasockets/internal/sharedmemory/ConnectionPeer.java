package org.rdmasockets.internal.sharedmemory;

import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsException;

/** The identifier at the other end of a connection, from the request on. Called without any lock; any thread. */
interface ConnectionPeer {
    /** No private data. */
    byte[] NO_DATA = {};

    /**
     * Connects the queue pair of this end, which is about to accept this partner's request: what it sends from now on
     * arrives at the partner, which does not know yet that it is accepted. False if the partner has gone; throws if it
     * cannot be given access to the memory of this end.
     */
    boolean join(SharedMemoryQueuePair own, ConnectionParameters request, ConnectionParameters answer)
            throws VerbsException;

    /** Hears that its request is accepted, after {@link #join}; false if the partner has gone. */
    boolean accepted(SharedMemoryQueuePair own, ConnectionParameters answer);

    /** Hears that its request has arrived, and is answered later. */
    void acknowledged();

    /** Whether the partner's process is known to be stopped. */
    default boolean isStopped() {
        return false;
    }

    /** Hears that its request is refused, and why. */
    void rejected(int status, byte[] privateData);

    /** Hears that this end has gone, perhaps before it was connected. */
    void disconnected();

    /**
     * Has {@link #disconnected}, or {@link #rejected} for an unanswered request, repeated as soon as there is memory
     * for it. Takes no memory. False if this cannot do so.
     */
    default boolean leaveLater(boolean requested, Error cause) {
        return false;
    }
}
