package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** More clients at once than the backlog has places: they wait, each within its own time. */
@RunIn({Place.JAVA_NET, Place.AUTO, Place.AUTO_OVER_LINK, Place.SHARED_MEMORY, Place.LINK, Place.DEVICE})
class BacklogContractTest extends RdmaContract {
    private static final int BACKLOG = 50;
    private static final int TIMEOUT_MILLIS = 100_000;

    /** No RDMA socket of these fixtures has a reason to go over TCP. */
    private static void assertNotFallenBack(Socket socket) throws IOException {
        if (socket instanceof RdmaSocket rdma) {
            Transport taken = rdma.getOption(RdmaSocketOptions.TRANSPORT);
            assertFalse(taken.is(Transport.TCP), taken::reason);
        }
    }

    private ServerSocket listening(int backlog) throws IOException {
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(fixture().address(), 0), backlog);
        return listener;
    }

    /** A client that connects, says which one it is, and waits for an echo. */
    private Call<Socket> client(ServerSocket listener, ThreadKind kind, int number, AtomicInteger connected)
            throws IOException {
        Socket client = socket();
        return Call.start(kind, "client " + number, () -> {
            client.connect(addressOf(listener), TIMEOUT_MILLIS);
            connected.incrementAndGet();
            client.getOutputStream().write(new byte[] {(byte) (number >> 8), (byte) number});
            assertEquals(number & 0xFF, client.getInputStream().read(), "the echo");
            return client;
        });
    }

    private int serveOne(ServerSocket listener) throws IOException {
        Socket server = acceptFrom(listener);
        int number = server.getInputStream().read() << 8 | server.getInputStream().read();
        server.getOutputStream().write(number);
        return number;
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void aBurstBeyondTheBacklogWaitsAndIsServed(ThreadKind kind) throws Exception {
        int burst = Math.min(300, fixture().manyConnections());
        ServerSocket listener = listening(BACKLOG);
        listener.setSoTimeout(TIMEOUT_MILLIS);
        AtomicInteger connected = new AtomicInteger();
        List<Call<Socket>> clients = new ArrayList<>();
        Set<Integer> sent = new HashSet<>();
        for (int i = 0; i < burst; i++) {
            clients.add(client(listener, kind, i, connected));
            sent.add(i);
        }
        Await.until("the backlog to fill", () -> connected.get() >= BACKLOG);
        Set<Integer> served = new HashSet<>();
        for (int i = 0; i < burst; i++) {
            served.add(serveOne(listener));
        }
        assertEquals(sent, served);
        for (Call<Socket> client : clients) {
            assertNotFallenBack(client.result());
        }
    }

    /** Nothing but its own timeout ends it, and what comes after it is not told that there was no room. */
    @Test
    void aClientThatWaitsTooLongTimesOutAndTheNextOneIsServed() throws Exception {
        ServerSocket listener = listening(1);
        listener.setSoTimeout(TIMEOUT_MILLIS);
        List<Socket> waiting = new ArrayList<>();
        SocketTimeoutException timedOut = null;
        while (timedOut == null) {
            Socket client = socket();
            try {
                client.connect(addressOf(listener), 2_000);
                waiting.add(client);
            } catch (SocketTimeoutException e) {
                timedOut = e;
            }
            assertTrue(waiting.size() < 10, "a backlog of 1 takes more than " + waiting.size());
        }
        assertEquals("Connect timed out", timedOut.getMessage());
        for (Socket client : waiting) {
            client.getOutputStream().write(1);
            assertEquals(1, acceptFrom(listener).getInputStream().read());
            assertNotFallenBack(client);
        }
        AtomicInteger connected = new AtomicInteger();
        Call<Socket> next = client(listener, ThreadKind.VIRTUAL, 7, connected);
        assertTrue(serveOneOrADead(listener) || serveOneOrADead(listener), "who came next is not served");
        assertNotFallenBack(next.result());
    }

    /** The one that gave up may have got its place at that very moment, and is accepted then, as over TCP. */
    private boolean serveOneOrADead(ServerSocket listener) {
        try {
            return serveOne(listener) >= 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void theListenerTakesWaitingClientsWithIt() throws Exception {
        ServerSocket listener = listening(1);
        AtomicInteger connected = new AtomicInteger();
        List<Call<Socket>> clients = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            clients.add(client(listener, ThreadKind.VIRTUAL, i, connected));
        }
        Await.until("the backlog to fill", () -> connected.get() >= 1);
        listener.close();
        for (Call<Socket> client : clients) {
            client.failure(Throwable.class);
        }
    }
}
