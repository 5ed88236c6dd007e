package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;

/** The riostream of rdma-core, which checks every byte that was placed, against Java. */
@Tag("device")
class RiostreamInteropTest {
    private static final int C_SERVER_PORT = 7471;
    private static final int RETRY_MILLIS = 50;
    private static final int ATTEMPTS = 10;

    @BeforeEach
    void onlyOverRdma() {
        assumeFalse(TestBed.tcp(), "nothing can be mapped over TCP");
    }

    @ParameterizedTest(name = "{0} bytes, {1} messages, {2} iterations")
    @CsvSource({"64, 10, 20", "4096, 10, 10", "65536, 3, 10", "1048576, 2, 5"})
    void javaServesTheClientInC(int bytes, int messages, int iterations) throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket()) {
            server.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
            server.bind(new InetSocketAddress(TestBed.address(), 0));
            server.setSoTimeout(TestBed.PATIENCE_MILLIS);
            try (Program client = riostream(bytes, messages, iterations, "-p", "" + server.getLocalPort(),
                    "-s", TestBed.address().getHostAddress())) {
                serve(server, bytes, messages, iterations);
                client.awaitSuccess();
            }
        }
    }

    private static void serve(RdmaServerSocket server, int bytes, int messages, int iterations) throws IOException {
        try (RdmaSocket socket = server.accept()) {
            socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
            new RiostreamPeer(socket, bytes).runServer(iterations, messages);
        }
    }

    @ParameterizedTest(name = "{0} bytes, {1} messages, {2} iterations")
    @CsvSource({"64, 10, 20", "4096, 10, 10", "65536, 3, 10", "1048576, 2, 5"})
    void javaIsServedByTheServerInC(int bytes, int messages, int iterations) throws Exception {
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            try (Program server = riostream(bytes, messages, iterations, "-p", "" + C_SERVER_PORT,
                    "-b", TestBed.address().getHostAddress())) {
                if (isServed(server, bytes, messages, iterations)) {
                    server.awaitSuccess();
                    return;
                }
            }
        }
        fail("riostream took no map " + ATTEMPTS + " times");
    }

    /** False if it was met between its rlisten and its RDMA_IOMAPSIZE, which it sets after that. */
    private static boolean isServed(Program server, int bytes, int messages, int iterations) throws Exception {
        try (RdmaSocket socket = connectOnceListening(server)) {
            Optional<RiostreamPeer> peer = map(socket, bytes);
            if (peer.isPresent()) {
                peer.get().runClient(iterations, messages);
            }
            return peer.isPresent();
        }
    }

    private static Optional<RiostreamPeer> map(RdmaSocket socket, int bytes) throws IOException {
        try {
            return Optional.of(new RiostreamPeer(socket, bytes));
        } catch (SocketException e) {
            if (e.getMessage().startsWith("The peer takes no maps")) {
                return Optional.empty();
            }
            throw e;
        }
    }

    /** A program does not say when it listens. */
    private static RdmaSocket connectOnceListening(Program program) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TestBed.PATIENCE_MILLIS * 1_000_000L;
        while (true) {
            RdmaSocket socket = new RdmaSocket();
            socket.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
            try {
                socket.connect(new InetSocketAddress(TestBed.address(), C_SERVER_PORT), TestBed.PATIENCE_MILLIS);
                socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
                return socket;
            } catch (ConnectException e) {
                socket.close();
                if (System.nanoTime() > deadline || !program.isAlive()) {
                    throw new IOException("nobody listens: " + program, e);
                }
            }
            Thread.sleep(RETRY_MILLIS);
        }
    }

    /** Both sides must be given the same sizes, or riostream waits for ever. */
    private static Program riostream(int bytes, int messages, int iterations, String... more) throws IOException {
        List<String> command = new ArrayList<>(List.of("riostream", "-T", "b", "-T", "v", "-S", "" + bytes,
                "-C", "" + messages, "-I", "" + iterations));
        command.addAll(List.of(more));
        return Program.start(command.toArray(String[]::new));
    }
}
