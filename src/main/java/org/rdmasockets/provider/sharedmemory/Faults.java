package org.rdmasockets.provider.sharedmemory;

/**
 * Bends what this device does, for tests of whatever is built on it: a network card loses, delays and breaks things
 * that memory never does. Called under locks of this package: must neither wait nor call back.
 */
interface Faults {
    /**
     * Takes a completion that is about to be reported out of the device's hands: it is lost, unless
     * {@link FaultyCompletion#deliver} is called. False to report it as it is.
     */
    boolean take(FaultyCompletion completion);

    /** Whether a queue pair behaves as if it had no receive posted, which lets its peer wait. */
    boolean hidesReceives(int queuePairNumber);

    /** Whether the send or receive queue of a queue pair behaves as if it were full, and refuses posts. */
    boolean isFull(int queuePairNumber, boolean receives);
}
