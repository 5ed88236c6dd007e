package org.rdmasockets.internal.sharedmemory;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.RdmaFixture;
import org.rdmasockets.contract.SocketContract;
import org.rdmasockets.contract.SocketFixture;

/** RDMA sockets keep the contract over a link of shared memory, as between two processes: both ends are in this one. */
@ExtendWith(Linked.class)
class RdmaSocketOverLinkContractTest extends SocketContract {
    @Override
    protected SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
