package org.rdmasockets.provider.sharedmemory;

/**
 * Bends what this device does, for tests of whatever is built on it: a network card loses, delays and breaks things
 * that memory never does. Called under locks of this package: must neither wait nor call back.
 */
interface Faults {
    /**
     * Takes a completion out of the device's hands: it is lost, unless {@link FaultyCompletion#deliver} is called.
     *
     * @param completion a completion that is about to be reported
     * @return false to report it as it is
     */
    boolean take(FaultyCompletion completion);

    /**
     * Tells whether a queue pair behaves as if it had no receive posted.
     *
     * @param queuePairNumber which queue pair
     * @return true to let its peer wait
     */
    boolean hidesReceives(int queuePairNumber);

    /**
     * Tells whether a queue behaves as if it were full.
     *
     * @param queuePairNumber which queue pair
     * @param receives true for its receive queue
     * @return true to refuse posts
     */
    boolean isFull(int queuePairNumber, boolean receives);
}
