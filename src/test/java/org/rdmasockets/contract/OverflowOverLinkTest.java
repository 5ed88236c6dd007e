package org.rdmasockets.contract;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.sharedmemory.Linked;

/** Over a link of shared memory, as between two processes, a caller's stack overflow harms no other caller. */
@ExtendWith(Linked.class)
class OverflowOverLinkTest extends OverflowContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
