package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmasockets.TestDevice;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.endpoint.EndpointException;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointBuilder;
import org.rdmasockets.endpoint.RdmaEndpointServer;

/**
 * Over iWARP a write completes when TCP has it. If the connection ended then, its end would be lost whenever the peer
 * says anything: so who closes waits until the peer has gone. Here TCP sends a segment at a time.
 */
@Tag("device")
class IwarpEndTest {
    private static final int ROUNDS = 5;
    private static final int MESSAGE_BYTES = 4096;
    private static final int MESSAGES = 100;
    /** So many may be on their way without a word of the reader. */
    private static final int MESSAGES_AT_ONCE = 5;
    /** Bytes that TCP counts as not acknowledged when nothing is left but its own end. */
    private static final int END = 1;

    @BeforeEach
    void slowDown() throws Exception {
        Assumptions.assumeTrue(!TestBed.tcp() && TestBed.iwarp(), "elsewhere a completion proves delivery");
        changeRoute("cwnd", "lock", "1");
    }

    @AfterEach
    void restore() throws Exception {
        if (!TestBed.tcp() && TestBed.iwarp()) {
            changeRoute();
        }
    }

    /** To the device's own address, over the network device that it has in the guest. */
    private static void changeRoute(String... metrics) throws Exception {
        String address = TestBed.address().getHostAddress();
        List<String> command = new ArrayList<>(List.of("ip", "route", "change", "table", "local", "local", address,
                "dev", "v0", "proto", "kernel", "scope", "host", "src", address));
        command.addAll(List.of(metrics));
        try (Program program = Program.start(command.toArray(String[]::new))) {
            program.awaitSuccess();
        }
    }

    @Test
    void nothingIsLeftToSendWhenASocketIsClosed() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            try (ServerSocket listener = TestBed.listen()) {
                Call<Void> writing = Call.run(ThreadKind.PLATFORM, "write and close", () -> writeAndClose(listener));
                try (Socket reader = TestBed.connect(listener.getLocalPort())) {
                    assertEquals(MESSAGES * MESSAGE_BYTES,
                            readUntilTheEnd(listener.getLocalPort(), reader.getInputStream()::readAllBytes).length);
                }
                writing.result();
            }
        }
    }

    private static void writeAndClose(ServerSocket listener) throws IOException {
        try (Socket writer = listener.accept()) {
            write(writer.getOutputStream(), MESSAGES);
        }
    }

    private static void write(OutputStream out, int messages) throws IOException {
        for (int i = 0; i < messages; i++) {
            out.write(new byte[MESSAGE_BYTES]);
        }
    }

    /** Then the peers have no more to say by the rules of C. */
    @Test
    void nothingIsLeftToSendWhenASocketIsClosedAfterShutdownsThatCross() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            try (ServerSocket listener = TestBed.listen();
                    Socket reader = TestBed.connect(listener.getLocalPort())) {
                closeAfterShutdowns(listener, reader);
                assertEquals(MESSAGES_AT_ONCE * MESSAGE_BYTES,
                        readUntilTheEnd(listener.getLocalPort(), reader.getInputStream()::readAllBytes).length);
            }
        }
    }

    private static void closeAfterShutdowns(ServerSocket listener, Socket reader) throws IOException {
        try (Socket writer = listener.accept()) {
            reader.getOutputStream().write(1); // the accepting end sends nothing before
            assertEquals(1, writer.getInputStream().read());
            write(writer.getOutputStream(), MESSAGES_AT_ONCE);
            writer.shutdownOutput();
            reader.shutdownOutput();
            assertEquals(-1, writer.getInputStream().read());
        }
    }

    @Test
    void nothingIsLeftToSendWhenAnEndpointIsClosed() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            try (RdmaEndpointServer server = endpoint().listen(new InetSocketAddress(TestBed.address(), 0));
                    RdmaEndpoint reader = endpoint().connect(server.localAddress())) {
                Call<Void> sending = Call.run(ThreadKind.PLATFORM, "send and close", () -> sendAndClose(server));
                assertEquals(MESSAGES, readUntilTheEnd(server.localAddress().getPort(), () -> receiveAll(reader)));
                sending.result();
            }
        }
    }

    private static RdmaEndpointBuilder endpoint() {
        return RdmaEndpoint.builder().device(TestDevice.name());
    }

    private static void sendAndClose(RdmaEndpointServer server) throws IOException {
        try (RdmaEndpoint sender = server.accept()) {
            LocalRegion message = sender.allocate(MESSAGE_BYTES);
            for (int i = 0; i < MESSAGES; i++) {
                sender.send(message);
            }
        }
    }

    private static int receiveAll(RdmaEndpoint reader) throws IOException {
        int count = 0;
        try {
            while (true) {
                reader.receive().close();
                count++;
            }
        } catch (EndpointException e) {
            assertEquals(EndpointException.Reason.PEER_CLOSED, e.reason(), e::getMessage);
            return count;
        }
    }

    /** Reads, and looks meanwhile at what ends. */
    private static <T> T readUntilTheEnd(int port, Callable<T> read) throws Exception {
        Call<T> reading = Call.start(ThreadKind.PLATFORM, "read", read);
        long left = 0;
        while (!reading.isDone()) {
            left = Math.max(left, leftAtTheEnd(port));
            Thread.sleep(2);
        }
        T result = reading.result();
        assertTrue(left <= END, "a connection ended with " + left + " bytes still to send");
        return result;
    }

    /** Of the TCP connections of a port that one end has closed ({@code FIN-WAIT-1}), the most not acknowledged. */
    private static long leftAtTheEnd(int port) throws IOException {
        long most = 0;
        String suffix = String.format(":%04X ", port);
        for (String line : Files.readAllLines(Path.of("/proc/net/tcp"))) {
            String[] fields = line.strip().split(" +");
            if (fields[3].equals("04") && (fields[1] + ' ' + fields[2] + ' ').contains(suffix)) {
                most = Math.max(most, Long.parseLong(fields[4].substring(0, fields[4].indexOf(':')), 16));
            }
        }
        return most;
    }
}
