package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsException;

/** The identifier at the other end of a connection, from the request on. Called without any lock; any thread. */
interface Partner {
    /**
     * Accepts the request that this partner made: connects both queue pairs and lets the partner know.
     *
     * @param own the queue pair of the accepting end
     * @param answer what to tell the partner
     * @param request what the partner asked for
     * @return false if the partner has gone
     * @throws VerbsException if the partner cannot be given access to the memory of this end
     */
    boolean accept(SharedMemoryQueuePair own, ConnectionParameters answer, ConnectionParameters request)
            throws VerbsException;

    /**
     * Refuses the request that this partner made.
     *
     * @param privateData what to tell the partner
     */
    void reject(byte[] privateData);

    /** Lets the partner know that this end has gone, whether it was connected by then or not. */
    void disconnect();
}
