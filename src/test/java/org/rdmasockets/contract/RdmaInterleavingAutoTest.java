package org.rdmasockets.contract;

import java.net.SocketException;
import java.util.Map;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Engine;

/** RDMA sockets that choose their transport come through every interleaving. */
class RdmaInterleavingAutoTest extends InterleavingContract {
    @Override
    protected SocketFixture fixture() {
        return new RdmaFixture(null);
    }

    @Override
    protected Map<String, Long> holdings() throws SocketException {
        return Map.of("queue pairs", (long) Engine.of(Providers.sharedMemory()).connections());
    }
}
