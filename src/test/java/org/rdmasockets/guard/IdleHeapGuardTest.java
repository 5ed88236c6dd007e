package org.rdmasockets.guard;

import java.net.InetAddress;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.VerbsProvider;

/** The heap of an idle connection over shared memory when both ends are in one process. */
class IdleHeapGuardTest extends IdleHeapContract {
    @Override
    VerbsProvider provider() {
        return new SharedMemoryProvider();
    }

    @Override
    InetAddress address() {
        return InetAddress.getLoopbackAddress();
    }

    @Override
    long limit() {
        return 3_000;
    }
}
