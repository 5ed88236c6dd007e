package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.FaultDoor;
import org.rdmasockets.verbs.ConnectionEvent;

/**
 * The thread of each step of a connect where it takes time to find the way, and calls may block, as over a device: each
 * change of threads costs more than most steps.
 */
class ConnectStepsTest {
    private static final int TIMEOUT_MILLIS = 60_000;
    private static final int SHORT_MILLIS = 300;

    private volatile boolean lost;
    private final WatchedVerbs verbs = new WatchedVerbs(new FaultDoor(false).provider(),
            event -> !(lost && event instanceof ConnectionEvent.RouteResolved));
    private final Replacement replacement = new Replacement(verbs.provider());
    /** The threads that have made calls of a name. */
    private final Map<String, Set<Thread>> threads = new ConcurrentHashMap<>();

    @BeforeEach
    void watch() {
        verbs.behaveAsDevice();
        verbs.beforeCall(name -> threads.computeIfAbsent(name, n -> ConcurrentHashMap.newKeySet())
                .add(Thread.currentThread()));
    }

    @AfterEach
    void restore() {
        replacement.close();
    }

    private static RdmaServerSocket server() throws Exception {
        RdmaServerSocket server = new RdmaServerSocket();
        server.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0));
        return server;
    }

    private static RdmaSocket client() throws Exception {
        RdmaSocket client = new RdmaSocket();
        client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        return client;
    }

    private Set<String> named(String call) {
        Set<String> names = new HashSet<>();
        threads.getOrDefault(call, Set.of()).forEach(
                thread -> names.add(thread == Thread.currentThread() ? "caller" : thread.getName()));
        return names;
    }

    @Test
    void theCallerTakesAllStepsButThoseThatAnEventAsksFor() throws Exception {
        try (RdmaServerSocket server = server(); RdmaSocket client = client()) {
            client.connect(server.getLocalSocketAddress(), TIMEOUT_MILLIS);
            assertEquals(Set.of("caller"), named("resolveAddress"));
            assertEquals(Set.of("caller"), named("connect"));
            assertTrue(named("createQueuePair").contains("caller"), () -> named("createQueuePair").toString());
            assertEquals(1, named("resolveRoute").size());
            assertTrue(named("resolveRoute").iterator().next().startsWith("rdma-completions"),
                    () -> named("resolveRoute").toString());
            server.accept().close();
        }
    }

    @Test
    void aCloseHasNoReceivesGivenBackThatNobodyNeeds() throws Exception {
        try (RdmaServerSocket server = server()) {
            int before = verbs.openIdentifiers();
            try (Socket accepted = exchangeWithClient(server)) {
                assertEquals(-1, accepted.getInputStream().read());
            }
            Await.until("both ends to be torn down", () -> verbs.openIdentifiers() == before);
            assertEquals(2, verbs.queuePairs().size());
            assertEquals(Set.of(), named("fail"), "a queue pair that is destroyed at once needs no error state before");
        }
    }

    /** Gives the end that was accepted; the client has closed its own. */
    private static Socket exchangeWithClient(RdmaServerSocket server) throws Exception {
        try (RdmaSocket client = client()) {
            client.connect(server.getLocalSocketAddress(), TIMEOUT_MILLIS);
            Socket accepted = server.accept();
            client.getOutputStream().write(1);
            accepted.getOutputStream().write(accepted.getInputStream().read());
            assertEquals(1, client.getInputStream().read());
            return accepted;
        }
    }

    @Test
    void aConnectThatFindsNoWayGivesBackWhatItMadeMeanwhile() throws Exception {
        try (RdmaServerSocket server = server()) {
            int before = verbs.openIdentifiers();
            lost = true;
            try (RdmaSocket client = client()) {
                assertThrows(SocketTimeoutException.class,
                        () -> client.connect(server.getLocalSocketAddress(), SHORT_MILLIS));
            }
            assertTrue(named("createQueuePair").contains("caller"), () -> named("createQueuePair").toString());
            Await.until("the attempt to be given up", () -> verbs.openIdentifiers() == before);
            lost = false;
            try (RdmaSocket client = client()) {
                client.connect(server.getLocalSocketAddress(), TIMEOUT_MILLIS);
            }
        }
    }
}
