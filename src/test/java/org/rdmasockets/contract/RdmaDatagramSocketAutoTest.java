package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA datagram sockets that are told nothing of transports. */
class RdmaDatagramSocketAutoTest extends RdmaDatagramSocketContract {
    RdmaDatagramSocketAutoTest() {
        super(Transport.AUTO, Transport.SHARED_MEMORY);
    }
}
