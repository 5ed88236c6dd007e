package org.rdmasockets.provider.sharedmemory;

import java.net.SocketException;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.InterleavingContract;
import org.rdmasockets.contract.RdmaFixture;
import org.rdmasockets.contract.SocketFixture;
import org.rdmasockets.provider.Providers;
import org.rdmasockets.provider.Replacement;
import org.rdmasockets.transport.Engine;

/** RDMA sockets over a link of shared memory come through every interleaving. */
class RdmaInterleavingOverLinkTest extends InterleavingContract {
    private static Replacement replacement;

    @BeforeAll
    static void reachThisProcessByALink() {
        replacement = new Replacement(new SharedMemoryProvider(true));
    }

    @AfterAll
    static void putBack() {
        replacement.close();
    }

    @Override
    protected SocketFixture fixture() {
        return new RdmaFixture(Transport.SHARED_MEMORY);
    }

    @Override
    protected Map<String, Long> holdings() throws SocketException {
        return Map.of("queue pairs", (long) Engine.of(Providers.sharedMemory()).connections());
    }
}
