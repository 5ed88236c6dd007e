package org.rdmasockets.contract;

import java.util.Map;

/** The JDK's TCP sockets come through every interleaving: that proves the trial. */
class TcpInterleavingTest extends InterleavingContract {
    @Override
    protected SocketFixture fixture() {
        return new TcpFixture();
    }

    @Override
    protected Map<String, Long> holdings() {
        return Map.of();
    }
}
