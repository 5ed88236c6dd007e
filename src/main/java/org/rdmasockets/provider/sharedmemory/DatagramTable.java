package org.rdmasockets.provider.sharedmemory;

import java.util.Arrays;

/**
 * Number to queue pair, for datagrams. A number is an index, and 7 bits that differ each time an index is used again,
 * so that a late datagram rarely finds another queue pair than its own. The highest bit tells these numbers from those
 * of connected queue pairs.
 */
final class DatagramTable {
    /** Set in the number of each queue pair for datagrams. */
    static final int DATAGRAM_BIT = 1 << 23;
    private static final int INDEX_BITS = 16;
    private static final int GENERATION_BITS = 7;

    /** Index to queue pair, null where it is free; replaced, never changed. */
    private volatile DatagramQueuePair[] queuePairs = new DatagramQueuePair[0];
    /** The last number of each index; guarded by this. */
    private int[] numbers = new int[0];

    /** Nobody is there. */
    DatagramTable() {}

    /** Gives out a number, whose datagrams are dropped until {@link #put}; 0 if there are no more. */
    synchronized int reserve() {
        int index = 0;
        while (index < numbers.length && numbers[index] < 0) {
            index++;
        }
        if (index == 1 << INDEX_BITS) {
            return 0;
        }
        if (index == numbers.length) {
            numbers = Arrays.copyOf(numbers, Math.max(4, 2 * numbers.length));
        }
        int generation = (numbers[index] >>> INDEX_BITS) + 1 & (1 << GENERATION_BITS) - 1;
        int number = DATAGRAM_BIT | generation << INDEX_BITS | index;
        numbers[index] = ~number; // negative while it is in use
        return number;
    }

    /** Lets datagrams find a queue pair whose number is reserved. */
    synchronized void put(DatagramQueuePair queuePair) {
        set(queuePair.number(), queuePair);
    }

    /** Gives a number back. */
    synchronized void remove(int number) {
        int index = index(number);
        numbers[index] = ~numbers[index];
        set(number, null);
    }

    private void set(int number, DatagramQueuePair queuePair) {
        int index = index(number);
        DatagramQueuePair[] changed = Arrays.copyOf(queuePairs, Math.max(index + 1, queuePairs.length));
        changed[index] = queuePair;
        queuePairs = changed;
    }

    private static int index(int number) {
        return number & (1 << INDEX_BITS) - 1;
    }

    /** Finds a queue pair by any number, or null. */
    DatagramQueuePair find(int number) {
        DatagramQueuePair[] all = queuePairs;
        int index = index(number);
        DatagramQueuePair found = index < all.length ? all[index] : null;
        return found != null && found.number() == number ? found : null;
    }
}
