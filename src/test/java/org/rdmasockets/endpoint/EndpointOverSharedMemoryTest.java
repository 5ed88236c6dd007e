package org.rdmasockets.endpoint;

import java.net.InetAddress;

/** Endpoints within one process. */
class EndpointOverSharedMemoryTest extends EndpointContract {
    @Override
    EndpointFixture fixture() {
        return new EndpointFixture("sharedmemory", InetAddress.ofLiteral("127.0.0.1"));
    }
}
