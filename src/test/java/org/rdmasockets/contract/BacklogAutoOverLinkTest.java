package org.rdmasockets.contract;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.internal.sharedmemory.Linked;

/** RDMA sockets to which the transport is left, as between two processes. */
@ExtendWith(Linked.class)
class BacklogAutoOverLinkTest extends BacklogContract {
    @Override
    SocketFixture fixture() {
        return new RdmaFixture(null);
    }
}
