package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA datagram sockets over shared memory within this process. */
class RdmaDatagramSocketOverSharedMemoryTest extends RdmaDatagramSocketContract {
    RdmaDatagramSocketOverSharedMemoryTest() {
        super(Transport.SHARED_MEMORY, Transport.SHARED_MEMORY);
    }
}
