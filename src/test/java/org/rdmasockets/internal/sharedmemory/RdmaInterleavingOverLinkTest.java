package org.rdmasockets.internal.sharedmemory;

import java.net.SocketException;
import java.util.Map;
import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.InterleavingContract;
import org.rdmasockets.contract.RdmaFixture;
import org.rdmasockets.contract.SocketFixture;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Engine;

/** RDMA sockets over a link of shared memory come through every interleaving. */
@ExtendWith(Linked.class)
class RdmaInterleavingOverLinkTest extends InterleavingContract {
    @Override
    protected SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }

    @Override
    protected Map<String, Long> holdings() throws SocketException {
        return Map.of("queue pairs", (long) Engine.of(Providers.sharedMemory()).connections());
    }
}
