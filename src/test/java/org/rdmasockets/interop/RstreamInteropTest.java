package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.StreamKind;

/** The rstream of rdma-core, which checks every byte, against Java: blocking, both directions, small to large. */
@Tag("device")
class RstreamInteropTest {
    private static final int C_SERVER_PORT = 7471;
    /** More than one only over iWARP. */
    private static final int MOST_ATTEMPTS = 4;

    /**
     * The messages of a connection, there and back.
     *
     * @param bytes of a message
     * @param messages one way before they come back
     * @param iterations how often
     */
    private record Traffic(int bytes, int messages, int iterations) {
        /** In C; both sides must be given the same sizes, or rstream waits for ever. */
        Program rstream(String... more) throws IOException {
            List<String> command = new ArrayList<>(List.of("rstream", "-T", "b", "-T", "v", "-S", "" + bytes,
                    "-C", "" + messages, "-I", "" + iterations));
            if (TestBed.tcp()) {
                command.addAll(List.of("-T", "s"));
            }
            command.addAll(List.of(more));
            return Program.start(command.toArray(String[]::new));
        }
    }

    @ParameterizedTest(name = "{0} bytes, {1} messages, {2} iterations")
    @CsvSource({"64, 100, 20", "1024, 100, 10", "4096, 50, 10", "65536, 10, 10", "1048576, 2, 5"})
    void javaServesTheClientInC(int bytes, int messages, int iterations) throws Exception {
        try (ServerSocket server = TestBed.listen();
                Program client = new Traffic(bytes, messages, iterations).rstream("-p", "" + server.getLocalPort(),
                        "-s", TestBed.address().getHostAddress())) {
            try (Socket socket = server.accept()) {
                socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
                QueuePairTable.assertConnected(client.pid());
                new RstreamPeer(socket, bytes, true).runServer(iterations, messages);
            } catch (IOException e) {
                throw new AssertionError(e + "; " + client, e);
            }
            client.awaitSuccess();
        }
    }

    @ParameterizedTest(name = "{0} bytes, {1} messages, {2} iterations")
    @CsvSource({"64, 100, 20", "1024, 100, 10", "4096, 50, 10", "65536, 10, 10", "1048576, 2, 5"})
    void javaIsServedByTheServerInC(int bytes, int messages, int iterations, TestReporter reporter) throws Exception {
        serve(new Traffic(bytes, messages, iterations), TestBed::socket, reporter);
    }

    /** C ignores what it does not know: the stream is rsockets' own, whatever was proposed. */
    @ParameterizedTest
    @EnumSource(names = {"SEND_RECEIVE", "READ_RING"})
    void cDoesNotKnowOtherWaysToCarryAStream(StreamKind proposed, TestReporter reporter) throws Exception {
        Assumptions.assumeFalse(TestBed.tcp(), "sockets of the JDK propose nothing");
        serve(new Traffic(20_000, 20, 5),
                () -> TestBed.socket().setOption(RdmaSocketOptions.STREAM_KIND, proposed), reporter);
    }

    private static void serve(Traffic traffic, TestBed.Maker maker, TestReporter reporter) throws Exception {
        for (int attempt = 1; !isServed(traffic, maker, attempt < MOST_ATTEMPTS); attempt++) {
            reporter.publishEntry("device limit", "rstream ended well, but closed before the end of its stream had "
                    + "arrived, and iWARP has dropped that; attempt " + attempt);
        }
    }

    /** Whether all came; see {@link #losesTheEnd} for the one case in which it need not. */
    private static boolean isServed(Traffic traffic, TestBed.Maker maker, boolean mayLose) throws Exception {
        try (Program server = traffic.rstream("-p", "" + C_SERVER_PORT, "-b", TestBed.address().getHostAddress())) {
            boolean whole = runClient(traffic, maker, server, mayLose);
            if (whole) {
                server.awaitSuccess();
            }
            return whole;
        }
    }

    private static boolean runClient(Traffic traffic, TestBed.Maker maker, Program server, boolean mayLose)
            throws Exception {
        long resets = resets();
        RstreamPeer peer = null;
        try (Socket socket = TestBed.connectOnceListening(C_SERVER_PORT, server, maker)) {
            QueuePairTable.assertConnected(server.pid());
            if (!TestBed.tcp()) {
                assertEquals(StreamKind.CREDIT_RING, socket.getOption(RdmaSocketOptions.STREAM_KIND));
            }
            peer = new RstreamPeer(socket, traffic.bytes, true);
            peer.runClient(traffic.iterations, traffic.messages);
            return true;
        } catch (IOException e) {
            if (mayLose && peer != null && losesTheEnd(e, peer, server) && resets() > resets) {
                return false;
            }
            throw new AssertionError(e + "; " + server, e);
        }
    }

    /**
     * The server in C closes when it has written its last. Over iWARP, data that its TCP connection still has to send
     * then is lost if this end was about to make room for more: TCP resets a connection that has no reader any more. C
     * says that all was well then, and only its last answers are missing.
     */
    private static boolean losesTheEnd(IOException failure, RstreamPeer peer, Program server)
            throws InterruptedException {
        return !TestBed.tcp() && TestBed.iwarp() && failure instanceof SocketException
                && "Connection reset".equals(failure.getMessage()) && peer.receivesTheLast() && server.awaitEnd() == 0;
    }

    /** How often TCP has reset a connection since the boot because arriving data had no reader. */
    private static long resets() throws IOException {
        List<String> lines = Files.readAllLines(Path.of("/proc/net/netstat"));
        List<String> names = List.of(lines.get(0).split(" "));
        String[] counts = lines.get(1).split(" ");
        return Long.parseLong(counts[names.indexOf("TCPAbortOnData")])
                + Long.parseLong(counts[names.indexOf("TCPAbortOnClose")]);
    }
}
