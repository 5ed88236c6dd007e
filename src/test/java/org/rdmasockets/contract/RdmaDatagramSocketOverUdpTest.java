package org.rdmasockets.contract;

import org.rdmasockets.Transport;

/** RDMA datagram sockets over UDP. */
class RdmaDatagramSocketOverUdpTest extends RdmaDatagramSocketContract {
    RdmaDatagramSocketOverUdpTest() {
        super(Transport.UDP, Transport.UDP);
    }
}
