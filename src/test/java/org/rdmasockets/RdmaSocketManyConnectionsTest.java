package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;

/** A thousand connections, each with a virtual thread at both ends, and nothing left of them afterwards. */
@Tag("device")
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class RdmaSocketManyConnectionsTest {
    private static final int CONNECTIONS = 1000;
    private static final int MESSAGES = 100;
    private static final int MESSAGE_BYTES = 64;
    /** For each half, connecting and echoing, on an emulated machine. */
    private static final int LIMIT_SECONDS = 280;
    private static final int MOST_LIBRARY_THREADS = 4;
    /** Descriptors that the JDK may open meanwhile, such as those of the pollers of virtual threads. */
    private static final int SPARE_DESCRIPTORS = 8;
    /** Connections that are set up at once: the device's set-up is slow, and no connect should wait for a minute. */
    private static final int CONNECTING_AT_ONCE = 64;

    private final CountDownLatch allConnected = new CountDownLatch(CONNECTIONS);
    private final CountDownLatch measured = new CountDownLatch(1);

    @Test
    void everyConnectionEchoesAndLeavesNothingBehind() throws Exception {
        try (RdmaServerSocket listener = new RdmaServerSocket(0, CONNECTIONS, TestDevice.address())) {
            useOnce(listener);
            ResourceCount before = ResourceCount.now(TestDevice.name());
            Call<Void> acceptor = Call.run(ThreadKind.PLATFORM, "acceptor", () -> acceptAll(listener));
            List<Call<Void>> clients = startClients(listener);
            assertTrue(allConnected.await(LIMIT_SECONDS, TimeUnit.SECONDS),
                    () -> allConnected.getCount() + " of " + CONNECTIONS + " connections are missing");
            ResourceCount during = ResourceCount.now(TestDevice.name());
            measured.countDown();
            for (Call<Void> client : clients) {
                client.result(LIMIT_SECONDS);
            }
            acceptor.result(LIMIT_SECONDS);
            System.out.println("before " + before + "\nduring " + during);
            assertTrue(during.ofConnections().get("qp") >= 2 * CONNECTIONS,
                    during::toString);
            assertTrue(during.descriptors() - before.descriptors() <= SPARE_DESCRIPTORS,
                    () -> "descriptors before " + before.descriptors() + ", during " + during.descriptors());
            // Connects that earlier tests gave up may still hold set-up threads on soft-iWARP, whose calls block.
            assertTrue(during.libraryThreads() <= Math.max(MOST_LIBRARY_THREADS, before.libraryThreads()),
                    during::toString);
            assertNothingLeft(before);
        }
    }

    /**
     * Objects that are made once for the whole process belong to the baseline. So does a connect to a silent host that
     * an earlier test gave up: soft-iWARP keeps it for minutes.
     */
    private static void useOnce(RdmaServerSocket listener) throws Exception {
        ResourceCount start = ResourceCount.now(TestDevice.name());
        RdmaSocket client = new RdmaSocket(TestDevice.address(), listener.getLocalPort());
        RdmaSocket server = listener.accept();
        client.getOutputStream().write(1);
        assertEquals(1, server.getInputStream().read());
        assertTrue(ResourceCount.now(TestDevice.name()).ofConnections().get("qp") >= 2, "the count sees them");
        client.close();
        server.close();
        Await.until("no more left than " + start, () -> noMoreThan(start));
    }

    /** One more protection domain is librdmacm's own, which it keeps for the device. */
    private static boolean noMoreThan(ResourceCount before) throws IOException {
        Map<String, Long> left = ResourceCount.now(TestDevice.name()).ofConnections();
        return before.ofConnections().entrySet().stream()
                .allMatch(e -> left.get(e.getKey()) <= e.getValue() + (e.getKey().equals("pd") ? 1 : 0));
    }

    private static void assertNothingLeft(ResourceCount before) throws Exception {
        Await.until("no more left than " + before, () -> noMoreThan(before));
        Await.until("descriptors as in " + before,
                () -> ResourceCount.now(TestDevice.name()).descriptors() <= before.descriptors() + SPARE_DESCRIPTORS);
    }

    private static void acceptAll(RdmaServerSocket listener) throws IOException {
        for (int i = 0; i < CONNECTIONS; i++) {
            RdmaSocket server = listener.accept();
            Thread.ofVirtual().start(() -> echo(server));
        }
    }

    private static void echo(RdmaSocket server) {
        try (server) {
            server.getInputStream().transferTo(server.getOutputStream());
        } catch (IOException e) {
            System.out.println("echo failed: " + e); // its client fails too, and with it the test
        }
    }

    private List<Call<Void>> startClients(RdmaServerSocket listener) {
        Semaphore connecting = new Semaphore(CONNECTING_AT_ONCE);
        List<Call<Void>> clients = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            int number = i;
            clients.add(Call.run(ThreadKind.VIRTUAL, "client " + i, () -> client(listener, connecting, number)));
        }
        return clients;
    }

    private void client(RdmaServerSocket listener, Semaphore connecting, int number) throws Exception {
        try (RdmaSocket socket = new RdmaSocket()) {
            connecting.acquire();
            try {
                socket.connect(listener.getLocalSocketAddress());
            } finally {
                connecting.release();
                allConnected.countDown();
            }
            measured.await();
            byte[] message = new byte[MESSAGE_BYTES];
            for (int round = 0; round < MESSAGES; round++) {
                message[0] = (byte) number;
                message[MESSAGE_BYTES - 1] = (byte) round;
                socket.getOutputStream().write(message);
                byte[] answer = socket.getInputStream().readNBytes(MESSAGE_BYTES);
                assertEquals((byte) number, answer[0]);
                assertEquals((byte) round, answer[MESSAGE_BYTES - 1]);
            }
        }
    }
}
