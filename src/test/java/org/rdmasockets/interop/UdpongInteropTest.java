package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/**
 * The udpong of rdma-core against Java, in both directions: small to large datagrams there and back, and many one way,
 * counted. {@code -Dorg.rdmasockets.test.udpong=all} runs the client's own tests of all sizes and its flood as well.
 *
 * <p>The datagram sockets of librdmacm know InfiniBand only; {@code global_handles.c} helps them on RoCE.
 */
@Tag("device")
class UdpongInteropTest {
    private static final int PORT = 7174;
    private static final int CONTROL_BYTES = 16;
    private static final int LOGIN = 0;
    private static final int START = 1;
    private static final int DATA = 2;
    private static final int ECHO = 3;
    private static final int END = 4;
    private static final int COUNT = 300;
    private static final boolean ALL = "all".equals(System.getProperty("org.rdmasockets.test.udpong"));
    private static final int MOST_ATTEMPTS = 4;
    private static final int ATTEMPT_SECONDS = 60;
    /** Longest datagram that C takes, over UDP, too. */
    private static final int MOST = 2032;

    @TempDir
    private static Path directory;
    private static String help;

    @BeforeAll
    static void compileHelp() throws Exception {
        help = RdmaCopyPeer.compileOrSkip(directory, "global_handles.c", "-shared", "-fPIC", "-ldl");
    }

    /** Packets of 4096 bytes: C sends what is longer than a packet, and the device drops that. */
    @BeforeAll
    static void makePacketsLong() throws Exception {
        setMtu(4200);
        if (!TestBed.iwarp()) {
            loadAllCode();
        }
    }

    /** So that the first answer to C is none of the late ones. */
    private static void loadAllCode() throws IOException {
        try (Server server = new Server(); Client client = new Client()) {
            for (int i = 0; i < COUNT; i++) {
                client.exchange(ECHO, MOST);
            }
            assertTrue(client.byQueuePair && server.failure.get() == null, "Java and Java use their queue pairs");
        }
    }

    @AfterAll
    static void makePacketsShort() throws Exception {
        setMtu(1500);
    }

    private static void setMtu(int bytes) throws Exception {
        if (!TestBed.iwarp()) {
            try (Program ip = Program.start("ip", "link", "set", "d0", "mtu", "" + bytes)) {
                ip.awaitSuccess();
            }
        }
    }

    /** A server as udpong has it, on a virtual thread, until it is closed. */
    private static final class Server implements AutoCloseable {
        private final DatagramSocket socket;
        private final Thread thread;
        private final AtomicReference<Throwable> failure = new AtomicReference<>();
        /** Of the thread, until it has ended: what was counted in each test, and all answers. */
        private final List<Integer> counts = new ArrayList<>();
        private int answers;
        private int data;
        private boolean byQueuePair;

        Server() throws IOException {
            socket = TestBed.tcp() ? new DatagramSocket(PORT, TestBed.address())
                    : new RdmaDatagramSocket(PORT, TestBed.address()).setOption(RdmaSocketOptions.TRANSPORT,
                            Transport.AUTO);
            socket.setReceiveBufferSize(1 << 20);
            thread = Thread.ofVirtual().start(this::serve);
        }

        private void serve() {
            int count = 0;
            try {
                while (true) {
                    DatagramPacket packet = new DatagramPacket(new byte[4096], 4096);
                    socket.receive(packet);
                    byQueuePair |= transport(socket).equals("ibverbs");
                    byte[] message = packet.getData();
                    switch (message[0]) {
                        case LOGIN, START -> count = 0;
                        case DATA, ECHO -> count++;
                        case END -> {
                            ByteBuffer.wrap(message).putInt(4, count);
                            counts.add(count);
                        }
                        default -> throw new IllegalStateException("operation " + message[0]);
                    }
                    if (message[0] == DATA) {
                        data++;
                    } else {
                        socket.send(packet);
                        answers++;
                    }
                }
            } catch (Throwable t) {
                if (!socket.isClosed()) {
                    failure.set(t);
                }
            }
        }

        /** Ends it; what was counted in each test. */
        List<Integer> end() throws Exception {
            close();
            assertTrue(thread.join(Duration.ofMillis(TestBed.PATIENCE_MILLIS)), "the server has ended");
            if (failure.get() != null) {
                throw new AssertionError("the server has failed", failure.get());
            }
            return counts;
        }

        @Override
        public void close() {
            socket.close();
        }
    }

    private static Program udpong(String... more) throws IOException {
        List<String> command = new ArrayList<>(List.of("env", "LD_PRELOAD=" + help, "udpong", "-p", "" + PORT, "-T",
                "b"));
        if (TestBed.tcp()) {
            command.addAll(List.of("-T", "s"));
        }
        command.addAll(List.of(more));
        return Program.start(command.toArray(String[]::new));
    }

    private static String transport(DatagramSocket socket) throws IOException {
        return TestBed.tcp() ? "ibverbs" : socket.getOption(RdmaSocketOptions.TRANSPORT).name();
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 64, 1000, 1536, MOST})
    void theClientInCIsAnswered(int bytes, TestReporter reporter) throws Exception {
        needDatagrams();
        try (Server server = new Server()) {
            runClient(reporter, "-S", "" + bytes, "-C", "" + COUNT, "-T", "e");
            server.end();
            assertTrue(server.byQueuePair, "something came by the queue pair");
            // Not counts: what C asks again has the operation of the late answer that it has received last.
            assertTrue(server.answers >= COUNT, "answers, some asked for twice: " + server.answers);
        }
    }

    @Test
    void theClientInCIsHeard(TestReporter reporter) throws Exception {
        needDatagrams();
        assumeTrue(ALL, "the client in C may spin for ever when it floods on a slow machine");
        int many = Integer.getInteger("org.rdmasockets.test.datagrams", 20 * COUNT);
        try (Server server = new Server()) {
            int attempts = runClient(reporter, "-S", "256", "-C", "" + many);
            reporter.publishEntry("counted", server.end() + " of " + many);
            assertTrue(server.data > 0 && server.data <= attempts * many, server.data + " of " + many);
        }
    }

    @Test
    void theTestsOfAllSizesOfTheClientInCEnd(TestReporter reporter) throws Exception {
        needDatagrams();
        assumeTrue(ALL, "it takes minutes");
        try (Server server = new Server();
                Program client = udpong("-s", TestBed.address().getHostAddress())) {
            reporter.publishEntry("udpong", client.awaitSuccess());
            reporter.publishEntry("counted", server.end().toString());
        }
    }

    /**
     * Runs the client in C until it ends well; how many attempts that took. It may spin for ever: in rpoll, which its
     * library's own thread suspends while it takes in where queue pairs are, or because it receives into what it sends
     * again, and so asks for something old once an answer came late.
     */
    private static int runClient(TestReporter reporter, String... options) throws Exception {
        List<String> all = new ArrayList<>(List.of("-s", TestBed.address().getHostAddress()));
        all.addAll(List.of(options));
        for (int attempt = 1;; attempt++) {
            try (Program client = udpong(all.toArray(String[]::new))) {
                if (attempt == MOST_ATTEMPTS || client.endsWithin(ATTEMPT_SECONDS)) {
                    reporter.publishEntry("udpong", client.awaitSuccess());
                    return attempt;
                }
                reporter.publishEntry("limit of udpong", "it spins; attempt " + attempt);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 64, 1000, 1536, MOST})
    void theServerInCAnswers(int bytes, TestReporter reporter) throws Exception {
        needDatagrams();
        try (Program server = udpong("-b", TestBed.address().getHostAddress());
                Client client = new Client()) {
            client.login(server);
            client.exchange(START, CONTROL_BYTES);
            for (int i = 0; i < COUNT; i++) {
                client.exchange(ECHO, bytes);
            }
            int counted = client.exchange(END, CONTROL_BYTES).getInt(4);
            assertTrue(client.byQueuePair, "something came by the queue pair");
            reporter.publishEntry("udpong", "counted " + counted + ", asked " + client.asked + " times, " + server);
            // An answer to a second start may come later, and then C begins to count anew.
            assertTrue(counted > COUNT / 2, counted + " echoes of " + COUNT);
        }
    }

    @Test
    void theServerInCHears(TestReporter reporter) throws Exception {
        needDatagrams();
        int many = Integer.getInteger("org.rdmasockets.test.datagrams", 20 * COUNT);
        try (Program server = udpong("-b", TestBed.address().getHostAddress());
                Client client = new Client()) {
            client.login(server);
            client.exchange(START, CONTROL_BYTES);
            long begun = System.nanoTime();
            for (int i = 0; i < many; i++) {
                client.send(DATA, 64);
                if (i % 32 == 31) { // C has 64 receives
                    client.exchange(ECHO, 64);
                }
            }
            int counted = client.exchange(END, CONTROL_BYTES).getInt(4) - many / 32;
            reporter.publishEntry("udpong", "counted " + counted + " of " + many + " and " + many / 32 + " echoes in "
                    + (System.nanoTime() - begun) / 1_000_000 + " ms, asked " + client.asked + " times");
            assertTrue(counted > many * 9 / 10, counted + " of " + many);
        }
    }

    private static void needDatagrams() {
        assumeFalse(TestBed.iwarp(), "device limit: iWARP has no datagrams; see RdmaDatagramSocketOnDeviceTest");
    }

    /** A client as udpong has it. */
    private static final class Client implements AutoCloseable {
        private final DatagramSocket socket;
        private byte sequence;
        private int asked;
        private boolean byQueuePair;

        Client() throws IOException {
            socket = TestBed.tcp() ? new DatagramSocket()
                    : new RdmaDatagramSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.IBVERBS);
            socket.connect(new InetSocketAddress(TestBed.address(), PORT));
            socket.setSoTimeout(500);
        }

        /** The server says nothing when it is ready. */
        void login(Program server) throws Exception {
            long deadline = System.nanoTime() + TestBed.PATIENCE_MILLIS * 1_000_000L;
            boolean in = false;
            while (!in) {
                assertTrue(server.isAlive() && System.nanoTime() < deadline, () -> "nobody answers: " + server);
                try {
                    exchange(LOGIN, CONTROL_BYTES);
                    in = true;
                } catch (SocketException e) {
                    Thread.sleep(50);
                }
            }
        }

        private void send(int operation, int bytes) throws IOException {
            byte[] data = new byte[bytes];
            data[0] = (byte) operation;
            data[2] = sequence;
            socket.send(new DatagramPacket(data, bytes));
        }

        /** Asks until there is the answer, which is what was sent. */
        ByteBuffer exchange(int operation, int bytes) throws IOException {
            sequence++;
            DatagramPacket packet = new DatagramPacket(new byte[4096], 4096);
            long deadline = System.nanoTime() + TestBed.PATIENCE_MILLIS * 1_000_000L;
            while (System.nanoTime() < deadline) {
                asked++;
                send(operation, bytes);
                try {
                    do {
                        socket.receive(packet);
                        byQueuePair |= transport(socket).equals("ibverbs");
                    } while (packet.getData()[2] != sequence || packet.getData()[0] != operation);
                    assertEquals(bytes, packet.getLength());
                    return ByteBuffer.wrap(packet.getData());
                } catch (SocketTimeoutException e) {
                    continue; // lost
                }
            }
            throw new AssertionError("no answer to operation " + operation + " of " + bytes + " bytes");
        }

        @Override
        public void close() {
            socket.close();
        }
    }
}
