package org.rdmasockets.contract;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.sharedmemory.Linked;

/** RDMA sockets over a link of shared memory, as between two processes, harm nobody when a caller's stack overflows. */
@ExtendWith(Linked.class)
class OverflowOverLinkTest extends OverflowContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
