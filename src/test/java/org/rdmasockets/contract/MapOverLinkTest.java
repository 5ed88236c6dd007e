package org.rdmasockets.contract;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.rdmasockets.Transport;
import org.rdmasockets.provider.Replacement;
import org.rdmasockets.provider.sharedmemory.Linked;

/** RDMA sockets map memory for each other over a link of shared memory, as between two processes. */
class MapOverLinkTest extends MapContract {
    private static Replacement replacement;

    @BeforeAll
    static void reachThisProcessByALink() {
        replacement = new Replacement(Linked.provider());
    }

    @AfterAll
    static void putBack() {
        replacement.close();
    }

    @Override
    SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }
}
