package org.rdmasockets.contract;

import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.rdmasockets.far.OtherJvm;

/** RDMA sockets keep the contract over shared memory where the other JVM connects. */
class RdmaSocketFromAnotherJvmContractTest extends SocketContract {
    private static OtherJvm other;

    @BeforeAll
    static void startTheOther() throws IOException {
        other = OtherJvm.start();
    }

    @AfterAll
    static void endTheOther() throws IOException {
        try {
            other.assertNoRescues();
        } finally {
            other.close();
        }
    }

    @Override
    protected SocketFixture fixture() {
        return new TwoJvmsFixture(other, false);
    }
}
