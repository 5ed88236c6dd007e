package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.verbs.QueuePairConfig;

/** A queue pair, as its queues see it; any thread. */
interface QueueOwner {
    /** {@code qp_num}. */
    int number();

    /** The device. */
    SharedMemoryDevice device();

    /** The protection domain. */
    SharedMemoryProtectionDomain domain();

    /** The sizes it was made with. */
    QueuePairConfig config();

    /** Goes on where a message found no receive in a shared queue; no lock is held. */
    void receivesArrived();
}
