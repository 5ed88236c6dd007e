package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.TestDevice;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.QueuePairTable;

/**
 * A server has one datagram queue pair of a device for all clients, each of which has its own. Not a thousand: each
 * asks once a second whether its server lives, and an emulated guest cannot answer so many in time.
 */
@Tag("device")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class ManySessionsOnDeviceTest extends ThousandSessionsTest {
    @BeforeEach
    void needDatagrams() {
        assumeFalse(TestDevice.name().startsWith("siw"), "device limit: iWARP has no datagrams");
    }

    @Override
    int sessions() {
        return 200;
    }

    @Override
    InetAddress address() {
        return TestDevice.address();
    }

    @Override
    List<String> options() {
        return List.of("-Dorg.rdmasockets.transport=ibverbs");
    }

    @Override
    void check(Process serving, List<RpcClient> all) throws Exception {
        long over = all.stream().filter(client -> client.transport().equals("ibverbs")).count();
        System.out.println(over + " of " + all.size() + " clients had their last answer over ibverbs; " + pairs()
                + " datagram queue pairs on " + TestDevice.name());
        assertTrue(over > all.size() / 2, over + " of " + all.size() + " had their last answer over ibverbs");
        // Those of tests before this one are destroyed in the background.
        Await.until("a queue pair of each client, and one of the server", () -> pairs() == all.size() + 1,
                ManySessionsOnDeviceTest::pairs);
    }

    private static long pairs() throws Exception {
        return QueuePairTable.read().stream()
                .filter(e -> e.type().equals("UD") && e.device().equals(TestDevice.name())).count();
    }

    @Override
    @ParameterizedTest
    @ValueSource(booleans = false)
    void sessionsHaveOneSocketAndAtMostSixteenKibibytesEach(boolean plain) throws Exception {
        super.sessionsHaveOneSocketAndAtMostSixteenKibibytesEach(plain);
    }
}
