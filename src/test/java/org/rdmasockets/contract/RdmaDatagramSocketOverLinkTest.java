package org.rdmasockets.contract;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.sharedmemory.Linked;

/** RDMA datagram sockets over a link of shared memory, as between two processes. */
@ExtendWith(Linked.class)
class RdmaDatagramSocketOverLinkTest extends RdmaDatagramSocketContract {
    RdmaDatagramSocketOverLinkTest() {
        super(Transport.SHARED_MEMORY, Transport.SHARED_MEMORY);
    }
}
