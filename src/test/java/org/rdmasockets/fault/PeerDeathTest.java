package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.QueuePairTable;
import org.rdmasockets.interop.TestBed;

/**
 * A peer that is killed says nothing, and on RoCE the queue pair shows nothing. Its connections, one with a blocked
 * reader, one with a busy writer and one idle, must all end within two seconds.
 */
@Tag("device")
class PeerDeathTest {
    private static final long BOUND_MILLIS = 2_000;
    private static final int CONNECTIONS = 3;

    @ParameterizedTest(name = "{0} peer, survivor {1}")
    @CsvSource({"Java, accepted", "Java, connected", "C, accepted", "C, connected"})
    void everyConnectionOfAKilledPeerEndsWithinTwoSeconds(String language, String survivor) throws Exception {
        List<Socket> sockets = new ArrayList<>();
        try (EchoService others = new EchoService();
                ServerSocket server = TestBed.listen();
                Program peer = survivor.equals("accepted")
                        ? victim(language, "connect", address(), "" + server.getLocalPort(), "" + CONNECTIONS)
                        : victim(language, "listen", address(), "" + CONNECTIONS)) {
            int port = survivor.equals("accepted") ? 0 : Integer.parseInt(peer.awaitLine("listening"));
            for (int i = 0; i < CONNECTIONS; i++) {
                Socket socket = port == 0 ? server.accept() : TestBed.connect(port);
                sockets.add(socket);
                socket.getOutputStream().write(1);
            }
            peer.awaitLine("ready");
            QueuePairTable.assertConnected(peer.pid());
            kill(peer, sockets.get(0), sockets.get(1), sockets.get(2));
            others.assertServes();
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private static void kill(Program peer, Socket idle, Socket written, Socket read) throws Exception {
        AtomicLong sent = new AtomicLong();
        Attempt reader = Attempt.start("reader", read.getInputStream()::read);
        Attempt writer = Attempt.start("writer", () -> writeForEver(written.getOutputStream(), sent));
        awaitFlow(writer, sent);
        reader.awaitParked();
        assertFalse(reader.isOver(), "the reader ended before the peer was killed");
        long killed = System.nanoTime();
        peer.kill();
        assertEnded(reader.await(BOUND_MILLIS));
        assertReset(writer.await(BOUND_MILLIS).failure(SocketException.class));
        long left = BOUND_MILLIS - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killed);
        idle.setSoTimeout((int) Math.max(1, left));
        assertEnded(Attempt.start("reader of the idle one", idle.getInputStream()::read).await(BOUND_MILLIS));
        Attempt late = Attempt.start("late writer", () -> writeForEver(idle.getOutputStream(), new AtomicLong()));
        assertReset(late.await(BOUND_MILLIS).failure(SocketException.class));
    }

    /** End of stream or a reset: TCP shows both, depending on what was on its way. */
    private static void assertEnded(Attempt.Outcome outcome) {
        if (outcome.failure() != null) {
            assertReset(outcome.failure(SocketException.class));
        } else {
            assertEquals(-1, outcome.value(), "read");
        }
    }

    private static void assertReset(SocketException e) {
        assertTrue(List.of("Connection reset", "Broken pipe", "Connection reset by peer").contains(e.getMessage()),
                e::toString);
    }

    private static int writeForEver(OutputStream out, AtomicLong sent) throws IOException {
        byte[] data = new byte[8_192];
        while (true) {
            out.write(data);
            sent.addAndGet(data.length);
        }
    }

    /** More than fits into all buffers has been written, so that the peer is reading. */
    private static void awaitFlow(Attempt writer, AtomicLong sent) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TestBed.PATIENCE_MILLIS);
        while (sent.get() < 8_000_000) {
            assertFalse(writer.isOver(), "the writer ended early");
            assertTrue(System.nanoTime() < deadline, () -> "only " + sent + " bytes could be written");
            Thread.sleep(1);
        }
    }

    private static String address() throws IOException {
        return TestBed.address().getHostAddress();
    }

    private static Program victim(String language, String... arguments) throws IOException {
        return language.equals("C") ? Program.python("victim.py", arguments)
                : Program.java(Victim.class.getName(), arguments);
    }
}
