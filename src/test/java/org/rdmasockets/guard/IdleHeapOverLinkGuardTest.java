package org.rdmasockets.guard;

import java.net.InetAddress;
import org.rdmasockets.internal.sharedmemory.Linked;
import org.rdmasockets.verbs.VerbsProvider;

/** The heap of an idle connection over a link of shared memory, as between two processes. */
class IdleHeapOverLinkGuardTest extends IdleHeapContract {
    @Override
    VerbsProvider provider() {
        return Linked.provider();
    }

    @Override
    InetAddress address() {
        return InetAddress.getLoopbackAddress();
    }

    @Override
    long limit() {
        return 3_250;
    }
}
