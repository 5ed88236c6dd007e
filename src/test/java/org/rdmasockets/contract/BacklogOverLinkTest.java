package org.rdmasockets.contract;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.sharedmemory.Linked;

/** RDMA sockets over a link of shared memory, as between two processes. */
@ExtendWith(Linked.class)
class BacklogOverLinkTest extends BacklogContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
