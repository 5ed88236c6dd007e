package org.rdmasockets.internal.sharedmemory;

import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsException;

/** The identifier at the other end of a connection, from the request on. Called without any lock; any thread. */
interface ConnectionPeer {
    /**
     * Connects the queue pair of this end, which is about to accept the request that this partner made: what it sends
     * from now on arrives there, although the partner does not know yet. False if the partner has gone; throws if it
     * cannot be given access to the memory of this end.
     */
    boolean join(SharedMemoryQueuePair own, ConnectionParameters request, ConnectionParameters answer)
            throws VerbsException;

    /** Accepts the request that this partner made, after {@link #join}; false if the partner has gone. */
    boolean accept(SharedMemoryQueuePair own, ConnectionParameters answer);

    /** Tells the partner that its request has arrived, and is answered later. */
    void acknowledge();

    /** Whether the partner's process is known to be stopped. */
    boolean isStopped();

    /** Refuses the request that this partner made. */
    void reject(byte[] privateData);

    /** Lets the partner know that this end has gone, whether it was connected by then or not. */
    void disconnect();

    /**
     * Says at last what {@link #disconnect} or {@link #reject}, for a request that was not answered, could not say, as
     * soon as there is memory for that. Takes none. False if this cannot do so.
     */
    default boolean leaveLater(boolean requested, Error cause) {
        return false;
    }
}
