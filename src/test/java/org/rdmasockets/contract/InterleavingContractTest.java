package org.rdmasockets.contract;

import java.net.SocketException;
import java.util.Map;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.provider.Providers;

/** Sockets come through every interleaving; those of the JDK prove the contract. */
@RunIn({Place.JAVA_NET, Place.AUTO, Place.TCP, Place.SHARED_MEMORY, Place.LINK})
class InterleavingContractTest extends InterleavingContract implements Placed {
    private Place.Entered where;

    @Override
    public void runsIn(Place.Entered entered) {
        where = entered;
    }

    @Override
    protected SocketFixture fixture() {
        return where.fixture();
    }

    @Override
    protected Map<String, Long> holdings() throws SocketException {
        return where.place() == Place.JAVA_NET ? Map.of()
                : Map.of("queue pairs", (long) Engine.of(Providers.sharedMemory()).connections());
    }
}
