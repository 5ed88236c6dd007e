package org.rdmasockets.provider.sharedmemory;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.RdmaFixture;
import org.rdmasockets.contract.SocketContract;
import org.rdmasockets.contract.SocketFixture;
import org.rdmasockets.provider.Replacement;

/** RDMA sockets keep the contract over a link of shared memory, as between two processes: both ends are in this one. */
class RdmaSocketOverLinkContractTest extends SocketContract {
    private static Replacement replacement;

    @BeforeAll
    static void reachThisProcessByALink() {
        replacement = new Replacement(new SharedMemoryProvider(true));
    }

    @AfterAll
    static void putBack() {
        replacement.close();
    }

    @Override
    protected SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
