package org.rdmasockets.contract;

import java.net.SocketException;
import java.util.Map;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Engine;

/** RDMA sockets over shared memory of this process come through every interleaving. */
class RdmaInterleavingOverSharedMemoryTest extends InterleavingContract {
    @Override
    protected SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }

    @Override
    protected Map<String, Long> holdings() throws SocketException {
        return Map.of("queue pairs", (long) Engine.of(Providers.sharedMemory()).connections());
    }
}
