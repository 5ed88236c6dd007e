package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.StreamKind;

/** The rstream of rdma-core, which checks every byte, against Java: blocking, both directions, small to large. */
@Tag("device")
class RstreamInteropTest {
    private static final int C_SERVER_PORT = 7471;

    @ParameterizedTest(name = "{0} bytes, {1} messages, {2} iterations")
    @CsvSource({"64, 100, 20", "1024, 100, 10", "4096, 50, 10", "65536, 10, 10", "1048576, 2, 5"})
    void javaServesTheClientInC(int bytes, int messages, int iterations) throws Exception {
        try (ServerSocket server = TestBed.listen();
                Program client = rstream(bytes, messages, iterations, "-p", "" + server.getLocalPort(),
                        "-s", TestBed.address().getHostAddress())) {
            try (Socket socket = server.accept()) {
                socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
                QueuePairTable.assertConnected(client.pid());
                new RstreamPeer(socket, bytes, true).runServer(iterations, messages);
            }
            client.awaitSuccess();
        }
    }

    @ParameterizedTest(name = "{0} bytes, {1} messages, {2} iterations")
    @CsvSource({"64, 100, 20", "1024, 100, 10", "4096, 50, 10", "65536, 10, 10", "1048576, 2, 5"})
    void javaIsServedByTheServerInC(int bytes, int messages, int iterations) throws Exception {
        try (Program server = rstream(bytes, messages, iterations, "-p", "" + C_SERVER_PORT,
                        "-b", TestBed.address().getHostAddress())) {
            try (Socket socket = TestBed.connectOnceListening(C_SERVER_PORT, server)) {
                QueuePairTable.assertConnected(server.pid());
                new RstreamPeer(socket, bytes, true).runClient(iterations, messages);
            }
            server.awaitSuccess();
        }
    }

    /** C ignores what it does not know: the stream is rsockets' own, whatever was proposed. */
    @ParameterizedTest
    @EnumSource(names = {"SEND_RECEIVE", "READ_RING"})
    void cDoesNotKnowOtherWaysToCarryAStream(StreamKind proposed) throws Exception {
        Assumptions.assumeFalse(TestBed.tcp(), "sockets of the JDK propose nothing");
        int bytes = 20_000;
        try (Program server = rstream(bytes, 20, 5, "-p", "" + C_SERVER_PORT, "-b",
                        TestBed.address().getHostAddress())) {
            try (Socket socket = TestBed.connectOnceListening(C_SERVER_PORT, server,
                    () -> TestBed.socket().setOption(RdmaSocketOptions.STREAM_KIND, proposed))) {
                assertEquals(StreamKind.CREDIT_RING, socket.getOption(RdmaSocketOptions.STREAM_KIND));
                new RstreamPeer(socket, bytes, true).runClient(5, 20);
            }
            server.awaitSuccess();
        }
    }

    /** Both sides must be given the same sizes, or rstream waits for ever. */
    private static Program rstream(int bytes, int messages, int iterations, String... more) throws IOException {
        List<String> command = new ArrayList<>(List.of("rstream", "-T", "b", "-T", "v", "-S", "" + bytes,
                "-C", "" + messages, "-I", "" + iterations));
        if (TestBed.tcp()) {
            command.addAll(List.of("-T", "s"));
        }
        command.addAll(List.of(more));
        return Program.start(command.toArray(String[]::new));
    }
}
