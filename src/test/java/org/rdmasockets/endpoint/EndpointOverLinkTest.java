package org.rdmasockets.endpoint;

import java.net.InetAddress;
import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.internal.sharedmemory.Linked;

/** Endpoints over a link of shared memory, as between two processes: both ends are in this one. */
@ExtendWith(Linked.class)
class EndpointOverLinkTest extends EndpointContract {
    @Override
    EndpointFixture fixture() {
        return new EndpointFixture("sharedmemory", InetAddress.ofLiteral("127.0.0.1"));
    }
}
