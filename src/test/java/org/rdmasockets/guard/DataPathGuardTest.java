package org.rdmasockets.guard;

import java.net.InetAddress;
import org.rdmasockets.provider.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.VerbsProvider;

/** What a message costs over shared memory when both ends are in one process. */
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
        return 1.03;
    }

    @Override
    double smallCopies() {
        return 1.002;
    }
}
