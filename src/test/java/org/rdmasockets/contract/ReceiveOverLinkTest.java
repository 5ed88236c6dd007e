package org.rdmasockets.contract;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.sharedmemory.Linked;

/** RDMA sockets lend what they have received over a link of shared memory, as between two processes. */
@ExtendWith(Linked.class)
class ReceiveOverLinkTest extends ReceiveContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
