package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketOption;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.interop.TestBed;

/** Features of RDMA sockets beyond the contract, or different from it; on the device that the properties name. */
@Tag("device")
class RdmaSocketOnDeviceTest {
    private final InetAddress address = TestDevice.address();

    private RdmaServerSocket listening(int backlog) throws IOException {
        return new RdmaServerSocket(0, backlog, address);
    }

    @Test
    void theDeviceIsListed() {
        assertTrue(RdmaDevices.unavailability().isEmpty(), () -> RdmaDevices.unavailability().orElseThrow());
        assertTrue(RdmaDevices.list().stream().anyMatch(d -> d.name().equals(TestDevice.name())),
                () -> RdmaDevices.list().toString());
    }

    @Test
    void constructorsConnectAndBind() throws IOException {
        try (RdmaServerSocket any = new RdmaServerSocket(0); RdmaServerSocket few = new RdmaServerSocket(0, 3)) {
            assertTrue(any.getInetAddress().isAnyLocalAddress() && few.getInetAddress().isAnyLocalAddress());
            try (RdmaSocket named = new RdmaSocket(address.getHostAddress(), any.getLocalPort());
                    RdmaSocket plain = new RdmaSocket(address, few.getLocalPort());
                    RdmaSocket bound = new RdmaSocket(address, any.getLocalPort(), address, 0);
                    RdmaSocket fromAny = new RdmaSocket(address.getHostAddress(), any.getLocalPort(), null, 0)) {
                assertEquals(few.getLocalPort(), plain.getPort());
                assertEquals(address, bound.getLocalAddress());
                for (RdmaSocket socket : List.of(named, plain, bound, fromAny)) {
                    assertTrue(socket.isConnected() && socket.getLocalPort() > 0);
                }
            }
        }
    }

    @Test
    void loopbackIsRefusedWithAHint() throws IOException {
        for (String loopback : List.of("127.0.0.1", "::1")) {
            SocketException e = assertThrows(SocketException.class,
                    () -> new RdmaSocket(InetAddress.ofLiteral(loopback), 7471));
            assertTrue(e.getMessage().contains("use the address of an RDMA interface"), e::getMessage);
        }
    }

    /** rdma-io, on soft-iWARP: a listener there fails; on soft-RoCE no peer could reach it. */
    @Test
    void aListenerAtLoopbackIsRefused() throws IOException {
        for (String loopback : List.of("127.0.0.1", "::1")) {
            try (RdmaServerSocket listener = new RdmaServerSocket()) {
                BindException e = assertThrows(BindException.class,
                        () -> listener.bind(new InetSocketAddress(InetAddress.ofLiteral(loopback), 0)));
                assertTrue(e.getMessage().contains("no RDMA device has"), e::getMessage);
            }
        }
    }

    /** No thread waits here, so only the library takes completions in; unanswered probes would end the connection. */
    @Test
    void probesKeepAConnectionThatNobodyReads() throws Exception {
        try (RdmaServerSocket listener = listening(5); RdmaSocket client = new RdmaSocket()) {
            client.setKeepAlive(true);
            client.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 1);
            client.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, 1);
            client.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, 1);
            client.connect(listener.getLocalSocketAddress());
            RdmaSocket server = listener.accept();
            for (int i = 0; i < 5; i++) {
                client.getOutputStream().write(i);
                Thread.sleep(1_500); // several probes, and each could find its predecessor unanswered
            }
            assertArrayEquals(new byte[] {0, 1, 2, 3, 4}, server.getInputStream().readNBytes(5));
            server.close();
        }
    }

    @Test
    void rdmaOptionsCannotBeSetOnceConnected() throws IOException {
        try (RdmaServerSocket listener = listening(5)) {
            listener.setOption(RdmaSocketOptions.RDMA_SQSIZE, 40);
            try (RdmaSocket client = new RdmaSocket()) {
                client.setOption(RdmaSocketOptions.RDMA_RQSIZE, 80);
                client.setOption(RdmaSocketOptions.RDMA_INLINE, 16);
                client.connect(listener.getLocalSocketAddress());
                RdmaSocket server = listener.accept();
                assertEquals(40, server.getOption(RdmaSocketOptions.RDMA_SQSIZE));
                assertEquals(80, client.getOption(RdmaSocketOptions.RDMA_RQSIZE));
                for (SocketOption<Integer> option : List.of(RdmaSocketOptions.RDMA_SQSIZE,
                        RdmaSocketOptions.RDMA_RQSIZE, RdmaSocketOptions.RDMA_INLINE)) {
                    assertThrows(SocketException.class, () -> client.setOption(option, 64), option::name);
                    assertThrows(SocketException.class, () -> server.setOption(option, 64), option::name);
                }
                server.close();
            }
        }
    }

    @Test
    void smallestAndLargeQueuesCarryData() throws Exception {
        for (int[] sizes : new int[][] {{16, 32, 0}, {384, 384, 64}, {16, 384, 16}}) {
            try (RdmaServerSocket listener = listening(5); RdmaSocket client = new RdmaSocket()) {
                listener.setOption(RdmaSocketOptions.RDMA_SQSIZE, sizes[0]);
                client.setOption(RdmaSocketOptions.RDMA_SQSIZE, sizes[0]);
                client.setOption(RdmaSocketOptions.RDMA_RQSIZE, sizes[1]);
                client.setOption(RdmaSocketOptions.RDMA_INLINE, sizes[2]);
                client.connect(listener.getLocalSocketAddress());
                try (RdmaSocket server = listener.accept()) {
                    echo(client, server, 300_000);
                }
            }
        }
    }

    /** Sends random bytes one way, and back while they come. */
    private static void echo(Socket client, Socket server, int length) throws Exception {
        byte[] sent = new byte[length];
        new Random(length).nextBytes(sent);
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            client.getOutputStream().write(sent);
            client.shutdownOutput();
        });
        Call<Long> echo = Call.start(ThreadKind.VIRTUAL, "echo",
                () -> server.getInputStream().transferTo(server.getOutputStream()));
        assertArrayEquals(sent, client.getInputStream().readNBytes(length));
        write.result();
        assertEquals(length, echo.result());
    }

    @Test
    void urgentDataIsASignOfLifeThatNobodyReads() throws IOException {
        try (RdmaServerSocket listener = listening(5);
                RdmaSocket client = new RdmaSocket(address, listener.getLocalPort())) {
            client.sendUrgentData(1);
            SocketException e = assertThrows(SocketException.class, () -> client.setOOBInline(true));
            assertEquals("Urgent data not supported: only TCP carries it", e.getMessage());
            client.getOutputStream().write(2);
            assertEquals(2, listener.accept().getInputStream().read());
        }
    }

    /** Closing and leaving at once must not lose the tail: the process lingers briefly. */
    @Test
    @Tag("further-jvms")
    void aProcessThatEndsDeliversWhatItWrote() throws Exception {
        try (RdmaServerSocket listener = listening(5)) {
            listener.setSoTimeout(TestBed.PATIENCE_MILLIS);
            // The second compiler has crashed under emulation, see src/test/guest/test.
            Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElse("java"),
                    "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED",
                    "-Dorg.rdmasockets.transport=ibverbs", "-cp", System.getProperty("java.class.path"),
                    Leaver.class.getName(), address.getHostAddress(), Integer.toString(listener.getLocalPort()))
                    .inheritIO().start();
            try (RdmaSocket socket = listener.accept()) {
                assertEquals(Leaver.LENGTH, socket.getInputStream().readAllBytes().length);
            } finally {
                assertTrue(process.waitFor(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the process ends");
                process.destroyForcibly();
            }
            assertEquals(0, process.exitValue());
        }
    }

    /** Connects, writes, closes and leaves. */
    static final class Leaver {
        static final int LENGTH = 100_000;

        private Leaver() {
        }

        /**
         * Runs.
         *
         * @param args address and port
         */
        public static void main(String[] args) throws IOException {
            RdmaSocket socket = new RdmaSocket();
            socket.connect(new InetSocketAddress(InetAddress.ofLiteral(args[0]), Integer.parseInt(args[1])));
            socket.getOutputStream().write(new byte[LENGTH]);
            socket.close();
            System.exit(0);
        }
    }
}
