package org.rdmasockets.overflow;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.ThreadKind;

/** Over the shared memory of one process, TCP and UDP. */
class OverflowTest extends OverflowContract {
    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void socketsOverTcp(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 100, () -> new SocketScene(Transport.TCP));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void datagramsOverUdp(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 33, () -> new DatagramScene(Transport.UDP));
    }
}
