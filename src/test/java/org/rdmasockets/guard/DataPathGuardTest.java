package org.rdmasockets.guard;

import java.net.InetAddress;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.VerbsProvider;

/** The cost of a message over shared memory when both ends are in one process. */
class DataPathGuardTest extends DataPathContract {
    @Override
    VerbsProvider provider() {
        return new SharedMemoryProvider();
    }

    @Override
    InetAddress address() {
        return InetAddress.getLoopbackAddress();
    }

    @Override
    int messages() {
        return 40_000;
    }

    /** The thread that posts takes the event, and arms again. */
    @Override
    double arming() {
        return 1.03 + ownEvents();
    }

    /** The sender has a queue of its own, for one write in 14 or more, which is signalled, and for half the updates. */
    @Override
    double ownEvents() {
        return 1 / 14.0 + UPDATES / 2;
    }

    @Override
    double smallCopies() {
        return 1.002;
    }
}
