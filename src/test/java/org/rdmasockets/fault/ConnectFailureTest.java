package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.VerbsException;

/**
 * Connections that cannot come about end in the exception of java.net, in time, and keep no other connection waiting.
 * Runs as root in the guest: it makes hosts that do not answer.
 */
@Tag("device")
class ConnectFailureTest {
    private static final int TIMEOUT_MILLIS = 1_000;

    /** How much later than its deadline a call may end in a slow machine. */
    private static final int SLACK_MILLIS = 1_000;
    private static final int PORT = 4_711;

    /** TEST-NET-3, to which there is no route. */
    private static final String NOWHERE = "203.0.113.1";

    private EchoService others;

    /** On d0 no host has to answer ARP, on v0 the second one needs no ARP: both get packets and say nothing. */
    @BeforeAll
    static void makeSilentHosts() throws IOException, InterruptedException {
        if (TestBed.iwarp()) {
            try (Program ip = Program.start("ip", "neighbour", "replace", silentHosts().toList().getLast(),
                    "lladdr", "02:00:00:00:00:63", "dev", "v0", "nud", "permanent")) {
                ip.awaitSuccess();
            }
        }
    }

    static Stream<String> silentHosts() {
        return TestBed.iwarp() ? Stream.of("10.78.0.98", "10.78.0.99") : Stream.of("10.77.0.99");
    }

    @BeforeEach
    void open() throws IOException {
        others = new EchoService();
    }

    @AfterEach
    void othersAreServed() throws IOException {
        others.assertServes();
        others.close();
    }

    @Test
    void nobodyListensMeansConnectionRefused() throws Exception {
        int free;
        try (ServerSocket server = TestBed.listen()) {
            free = server.getLocalPort();
        }
        ConnectException e = dial(TestBed.address(), free, TestBed.PATIENCE_MILLIS).failure(ConnectException.class);
        assertTrue(e.getMessage().startsWith("Connection refused"), e::toString);
    }

    @Test
    void aRejectedRequestMeansConnectionRefused() throws Exception {
        assumeFalse(TestBed.tcp(), "TCP cannot reject");
        try (RawNetwork network = new RawNetwork();
                ConnectionIdentifier listener = network.listen(ConnectFailureTest::reject)) {
            ConnectException e = dial(TestBed.address(), listener.localAddress().getPort(), TestBed.PATIENCE_MILLIS)
                    .failure(ConnectException.class);
            assertTrue(e.getMessage().startsWith("Connection refused"), e::toString);
        }
    }

    private static void reject(ConnectionEvent.ConnectRequest request) {
        try (ConnectionIdentifier identifier = request.identifier()) {
            identifier.reject(new byte[0]);
        } catch (VerbsException e) {
            System.err.println("the request was not rejected: " + e);
        }
    }

    @Test
    void noRouteEndsAtOnce() throws Exception {
        SocketException e = dial(InetAddress.getByName(NOWHERE), PORT, TestBed.PATIENCE_MILLIS)
                .failure(SocketException.class);
        assertTrue(List.of("Network is unreachable", "No route to host").stream().anyMatch(e.getMessage()::startsWith),
                e::toString);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("silentHosts")
    void aSilentHostEndsInATimeoutInTime(String host) throws Exception {
        long start = System.nanoTime();
        Attempt attempt = start(InetAddress.getByName(host), PORT, TIMEOUT_MILLIS);
        others.assertServes();
        Attempt.Outcome outcome = attempt.await(TestBed.PATIENCE_MILLIS);
        assertEquals("Connect timed out", outcome.failure(SocketTimeoutException.class).getMessage());
        long millis = outcome.millisSince(start);
        assertTrue(millis >= TIMEOUT_MILLIS && millis < TIMEOUT_MILLIS + SLACK_MILLIS, () -> millis + " ms");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("silentHosts")
    void manySilentHostsKeepNobodyWaiting(String host) throws Exception {
        int count = 40;
        Attempt[] attempts = new Attempt[count];
        for (int i = 0; i < count; i++) {
            attempts[i] = start(InetAddress.getByName(host), PORT + i, TIMEOUT_MILLIS);
        }
        others.assertServes();
        for (Attempt attempt : attempts) {
            attempt.await(TestBed.PATIENCE_MILLIS).failure(SocketTimeoutException.class);
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("silentHosts")
    void aSilentHostEndsWithoutATimeoutInTheBoundOfTheLibrary(String host) throws Exception {
        assumeFalse(TestBed.tcp(), "the bound of TCP is minutes");
        List<String> options = List.of("-XX:TieredStopAtLevel=1", "-Dorg.rdmasockets.connectTimeout=3000");
        try (Program dial = Program.java(options, Dial.class.getName(), host, "" + PORT)) {
            String[] end = dial.awaitLine("ended after ").split(" ", 2);
            assertTrue(end[1].startsWith("java.net.ConnectException: Connection timed out"), end[1]);
            assertTrue(Long.parseLong(end[0]) < 3_000 + SLACK_MILLIS, () -> end[0] + " ms");
            dial.awaitSuccess();
        }
    }

    private static Attempt start(InetAddress host, int port, int timeoutMillis) {
        return Attempt.start("connect to " + host, () -> {
            try (Socket socket = TestBed.socket()) {
                socket.connect(new InetSocketAddress(host, port), timeoutMillis);
                return 1;
            }
        });
    }

    private static Attempt.Outcome dial(InetAddress host, int port, int timeoutMillis) throws InterruptedException {
        return start(host, port, timeoutMillis).await(2L * TestBed.PATIENCE_MILLIS);
    }
}
