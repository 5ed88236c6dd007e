package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileOutputStream;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** A server in a JVM of its own that is killed, and started anew on its port, while a client calls. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class CallsBetweenProcessesTest {
    private static final Duration LONG = Duration.ofSeconds(100);

    @TempDir
    private Path folder;
    private KillableServer server;

    /** Serves until it is killed. */
    public static final class Server {
        private Server() {
        }

        /** Arguments: the transport, the port, the file of the store, whether calls are held for ever once stored. */
        public static void main(String[] arguments) throws Exception {
            FileOutputStream store = new FileOutputStream(arguments[2], true);
            boolean holds = Boolean.parseBoolean(arguments[3]);
            RpcServer.Builder builder = RpcServer.builder().unary("put", (request, call) -> {
                store.write(request); // one call of the system, and whole even after a kill
                if (holds) {
                    Thread.sleep(Duration.ofHours(1));
                }
                return request;
            });
            switch (arguments[0]) {
                case "udp" -> builder.datagrams(DatagramSocket::new);
                case "datagrams" -> builder.datagrams();
                default -> { }
            }
            InetSocketAddress local = KillableServer.at(Integer.parseInt(arguments[1]));
            KillableServer.serve(() -> builder.listen(local));
        }
    }

    @BeforeEach
    void findPort() throws IOException {
        server = new KillableServer(Server.class, folder.resolve("store"));
    }

    @AfterEach
    void killServers() {
        server.close();
    }

    private Process start(String transport, boolean holds) throws IOException {
        return server.start(transport, Boolean.toString(holds));
    }

    private RpcClient connect(String transport) throws IOException {
        RpcClient client = (switch (transport) {
            case "udp" -> RpcClient.builder().datagrams(DatagramSocket::new);
            case "datagrams" -> RpcClient.builder().datagrams();
            default -> RpcClient.builder();
        }).connect(server.address());
        assertEquals(transport.equals("udp") ? "udp" : "sharedmemory", client.transport());
        return client;
    }

    private static RpcOptions options(boolean idempotent) {
        return RpcOptions.DEFAULT.idempotent(idempotent).timeout(LONG);
    }

    /** Makes calls one after the other: those that ended without an answer. */
    private List<Integer> callAll(RpcClient client, int first, boolean idempotent) throws Exception {
        List<Integer> failed = new ArrayList<>();
        for (int i = first; i < first + KillableServer.PER_THREAD; i++) {
            server.awaitTurn(i);
            try {
                byte[] answer = client.call("put", KillableServer.bytes(i), options(idempotent));
                assertEquals(i, ByteBuffer.wrap(answer).getInt());
            } catch (RpcException e) {
                if (idempotent || e.status() != RpcStatus.UNAVAILABLE) {
                    throw e;
                }
                failed.add(i);
            }
        }
        return failed;
    }

    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp", "datagrams"})
    void aServerKilledAmongTenThousandCallsLosesNoIdempotentOneAndRunsNoOtherTwice(String transport) throws Exception {
        Process first = start(transport, false);
        List<Integer> failed = new ArrayList<>();
        try (RpcClient client = connect(transport); ExecutorService callers = Executors.newCachedThreadPool()) {
            List<Future<List<Integer>>> threads = new ArrayList<>();
            for (int t = 0; t < KillableServer.THREADS; t++) {
                int start = t * KillableServer.PER_THREAD;
                boolean idempotent = KillableServer.isIdempotent(t);
                threads.add(callers.submit(() -> callAll(client, start, idempotent)));
            }
            server.killAmongCalls(first, transport, "false");
            for (Future<List<Integer>> thread : threads) {
                failed.addAll(thread.get(200, TimeUnit.SECONDS));
            }
            assertEquals(transport.equals("udp") ? "udp" : "sharedmemory", client.transport());
        }
        assertTrue(failed.size() <= KillableServer.THREADS / 2, () -> "more failed than were under way: " + failed);
        server.checkRuns(failed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp", "datagrams"})
    void aCallThatRanWhenItsServerWasKilledRunsAgainOnlyIfIdempotent(String transport) throws Exception {
        Process first = start(transport, true);
        try (RpcClient client = connect(transport); ExecutorService callers = Executors.newCachedThreadPool()) {
            Future<byte[]> again = callers.submit(() -> client.call("put", KillableServer.bytes(1), options(true)));
            Future<RpcException> once = callers.submit(() -> assertThrows(RpcException.class,
                    () -> client.call("put", KillableServer.bytes(2), options(false))));
            Await.until("both calls run", () -> server.stored() == 2);
            first.destroyForcibly().waitFor();
            start(transport, false);
            assertEquals(1, ByteBuffer.wrap(again.get(200, TimeUnit.SECONDS)).getInt());
            assertEquals(RpcStatus.UNAVAILABLE, once.get(200, TimeUnit.SECONDS).status());
            assertTrue(once.get().getMessage().contains("started anew"), once.get().getMessage());
        }
        assertEquals(2, server.runs()[1], "runs of the idempotent call");
        assertEquals(1, server.runs()[2], "runs of the other call");
    }

    /** Nothing comes from the server that would end a read, neither an answer nor the end of the connection. */
    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "udp", "datagrams"})
    void aCancelledCallEndsThoughItsServerIsStopped(String transport) throws Exception {
        Process process = start(transport, true);
        try (RpcClient client = connect(transport)) {
            for (ThreadKind kind : ThreadKind.values()) {
                int stored = server.stored();
                RpcPending reads = client.begin("put", KillableServer.bytes(1), options(true));
                RpcPending waits = client.begin("put", KillableServer.bytes(2), options(true));
                Await.until("both calls run", () -> server.stored() == stored + 2);
                Call<byte[]> reader = Call.start(kind, "the call that reads", reads::await).awaitBlocked();
                Call<byte[]> other = Call.start(kind, "the other call", waits::await).awaitBlocked();
                ChildJvm.signal(process.pid(), "STOP", "T");
                reads.cancel();
                assertCancelled(reader);
                other.awaitBlocked(); // it reads now
                waits.cancel();
                assertCancelled(other);
                ChildJvm.signal(process.pid(), "CONT", "RSD");
            }
            RpcPending next = client.begin("put", KillableServer.bytes(3), options(true));
            assertFalse(next.await(Duration.ofMillis(1)), "what is left of the cancelled calls ends another wait");
            next.cancel();
        }
    }

    private static void assertCancelled(Call<byte[]> call) {
        assertEquals(RpcStatus.CANCELLED, assertThrows(RpcException.class, call::result).status());
    }
}
