package org.rdmasockets.guard;

import java.net.InetAddress;
import org.rdmasockets.internal.sharedmemory.Linked;
import org.rdmasockets.verbs.VerbsProvider;

/** The cost of a message over a link of shared memory, as between two processes. */
class DataPathOverLinkGuardTest extends DataPathContract {
    @Override
    VerbsProvider provider() {
        return Linked.provider();
    }

    @Override
    InetAddress address() {
        return InetAddress.getLoopbackAddress();
    }

    @Override
    int messages() {
        return 40_000;
    }

    @Override
    double arming() {
        return 0.1;
    }

    /** They join the first, unless it is taken first: one message for all, and the proofs that they were sent. */
    @Override
    double burstCompletions() {
        return 2 / 16.0 + 1 / 14.0;
    }

    @Override
    double smallCopies() {
        return 1.002;
    }

    /** Four calls of the C library that keep errno; each makes an object, unless the compiler finds it superfluous. */
    @Override
    double wakingGarbage() {
        return 4 * 40 + super.wakingGarbage();
    }
}
