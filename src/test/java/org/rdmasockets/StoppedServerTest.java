package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.interop.Program;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/**
 * Connecting to a process that is stopped. Over TCP its kernel takes the connection, and the process serves it when it
 * goes on; meanwhile it cannot accept over shared memory.
 */
class StoppedServerTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int[] TIMEOUTS_MILLIS = {0, 1_000, 3_000};

    private final List<Socket> sockets = new ArrayList<>();
    private Program server;
    private int port;

    @BeforeEach
    void start() throws Exception {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("StoppedServerTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
        server = Program.java("EchoServer", "0");
        Matcher said = Pattern.compile(".*:(\\d+) listens over tcp, sharedmemory.*")
                .matcher(server.awaitLine("0.0.0.0"));
        assertTrue(said.matches(), server::output);
        port = Integer.parseInt(said.group(1));
    }

    @AfterEach
    void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        if (server != null) {
            server.close();
        }
    }

    private <S extends Socket> S kept(S socket) {
        sockets.add(socket);
        return socket;
    }

    private RdmaSocket connected(int timeoutMillis) throws IOException {
        RdmaSocket socket = kept(new RdmaSocket());
        socket.connect(new InetSocketAddress(LOOPBACK, port), timeoutMillis);
        return socket;
    }

    private static Transport transport(RdmaSocket socket) throws IOException {
        return socket.getOption(RdmaSocketOptions.TRANSPORT);
    }

    private static void assertOverSharedMemory(RdmaSocket socket) throws IOException {
        assertTrue(transport(socket).is(Transport.SHARED_MEMORY), transport(socket).reason());
        assertServed(socket);
    }

    private static void assertServed(Socket socket) throws IOException {
        socket.setSoTimeout(60_000);
        socket.getOutputStream().write(7);
        assertEquals(7, socket.getInputStream().read());
    }

    private void stop() throws Exception {
        ChildJvm.signal(server.pid(), "STOP", "T");
    }

    private void goOn() throws Exception {
        ChildJvm.signal(server.pid(), "CONT", "RSD");
    }

    @ParameterizedTest(name = "which has a link: {0}")
    @ValueSource(booleans = {false, true})
    void aStoppedServerIsConnectedToOverTcpAndServesWhenItGoesOn(boolean linked) throws Exception {
        if (linked) {
            assertOverSharedMemory(connected(0));
        }
        stop();
        Map<Integer, Socket> plain = new LinkedHashMap<>();
        Map<Integer, RdmaSocket> rdma = new LinkedHashMap<>();
        for (int timeoutMillis : TIMEOUTS_MILLIS) {
            plain.put(timeoutMillis, kept(new Socket()));
            plain.get(timeoutMillis).connect(new InetSocketAddress(LOOPBACK, port), timeoutMillis);
            rdma.put(timeoutMillis, connected(timeoutMillis));
        }
        goOn();
        for (int timeoutMillis : TIMEOUTS_MILLIS) {
            Transport taken = transport(rdma.get(timeoutMillis));
            assertTrue(taken.is(Transport.TCP) && taken.reason().contains("is stopped"), taken::reason);
            assertServed(plain.get(timeoutMillis));
            assertServed(rdma.get(timeoutMillis));
        }
        assertOverSharedMemory(connected(0)); // nothing is remembered of that
    }

    @Test
    void whereNothingElseMayBeTakenTheServerIsWaitedFor() throws Exception {
        stop();
        RdmaSocket forced = kept(new RdmaSocket());
        forced.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        Call<Void> connect = Call.run(ThreadKind.PLATFORM, "connect",
                () -> forced.connect(new InetSocketAddress(LOOPBACK, port)));
        connect.awaitBlocked();
        goOn();
        connect.result();
        assertOverSharedMemory(forced);
    }

    /** They write more than the ring to a process has room for. */
    @Test
    void manyWriteToAStoppedServerAndAreAllAnsweredWhenItGoesOn() throws Exception {
        List<RdmaSocket> many = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            many.add(connected(0));
        }
        stop();
        for (int i = 0; i < many.size(); i++) {
            many.get(i).getOutputStream().write(bytes(i));
        }
        goOn();
        for (int i = 0; i < many.size(); i++) {
            many.get(i).setSoTimeout(60_000);
            assertArrayEquals(bytes(i), many.get(i).getInputStream().readNBytes(bytes(i).length));
        }
        assertOverSharedMemory(many.getFirst());
    }

    private static byte[] bytes(int seed) {
        byte[] bytes = new byte[2000];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    @Test
    void aServerThatStopsAndGoesOnKeepsItsConnections() throws Exception {
        RdmaSocket before = connected(0);
        assertOverSharedMemory(before);
        stop();
        before.getOutputStream().write(7);
        goOn();
        assertEquals(7, before.getInputStream().read());
        assertOverSharedMemory(before);
    }
}
