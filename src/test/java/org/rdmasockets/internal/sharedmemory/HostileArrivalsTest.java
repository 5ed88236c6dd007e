package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.verbs.ConnectionParameters;

/** A server socket, and a peer that asks for connections by a link of its own and reads no answer. */
class HostileArrivalsTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int BACKLOG = 2;
    /** As many as may wait beyond the backlog. */
    private static final int MOST_HELD = 4096;
    private static final int TIMEOUT_MILLIS = 60_000;

    private final SharedMemoryProvider victim = new SharedMemoryProvider();
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();
    private RdmaServerSocket server;
    private DeafPeer attacker;

    @BeforeEach
    void open() throws Exception {
        closing(new Replacement(victim));
        server = closing(new RdmaServerSocket(0, BACKLOG, LOOPBACK));
        server.setSoTimeout(TIMEOUT_MILLIS);
        attacker = closing(new DeafPeer(address()));
        Await.until("a link", attacker::serve, () -> attacker.ended);
    }

    @AfterEach
    void closeAll() throws Exception {
        while (!resources.isEmpty()) {
            resources.pop().close();
        }
    }

    private <T extends AutoCloseable> T closing(T resource) {
        resources.push(resource);
        return resource;
    }

    /** Asks for a connection as an honest peer does. */
    private void ask(int slot) throws Exception {
        byte[] data = ByteBuffer.allocate(40).put(0, (byte) 1).put(1, (byte) 2).putShort(2, (short) 100)
                .putInt(20, 2).putInt(36, 4096).array();
        byte[] payload = new ConnectMessage(1, new ConnectionParameters(data, 0, 0, 7, 7),
                address(), new InetSocketAddress(LOOPBACK, 1 + slot)).encode();
        Await.until("room in the ring", () -> {
            boolean sent = attacker.send(LinkDispatcher.CONNECT, 0, 0, slot, payload);
            attacker.link.writer().ringPeer();
            return sent;
        }, () -> attacker.ended);
    }

    /** A client whose port is known before it connects. */
    private RdmaSocket client(Transport transport) throws IOException {
        RdmaSocket client = closing(new RdmaSocket());
        client.setOption(RdmaSocketOptions.TRANSPORT, transport).bind(new InetSocketAddress(LOOPBACK, 0));
        return client;
    }

    private InetSocketAddress address() {
        return new InetSocketAddress(LOOPBACK, server.getLocalPort());
    }

    /** Accepts until it is the client's turn. */
    private void assertServed(RdmaSocket client, Call<Void> connect) throws Exception {
        RdmaSocket accepted = closing(server.accept());
        while (accepted.getPort() != client.getLocalPort()) {
            accepted.close();
            accepted = closing(server.accept());
        }
        connect.result();
        client.getOutputStream().write(7);
        assertEquals(7, accepted.getInputStream().read());
    }

    @Test
    void aPeerThatAsksAndNeverReadsKeepsNobodyOut() throws Exception {
        for (int slot = 0; slot < 4 * BACKLOG; slot++) {
            ask(slot);
        }
        Await.until("the backlog to be full", () -> {
            try {
                client(Transport.SHARED_MEMORY).connect(address(), 500);
                return false;
            } catch (SocketTimeoutException e) {
                return true; // it waited, and was not refused
            }
        });
        for (Transport transport : new Transport[] {Transport.SHARED_MEMORY, Transport.AUTO}) {
            RdmaSocket honest = client(transport);
            Call<Void> connect = Call.run(ThreadKind.VIRTUAL, "connect",
                    () -> honest.connect(address(), TIMEOUT_MILLIS));
            assertServed(honest, connect);
            assertTrue(honest.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.SHARED_MEMORY));
        }
    }

    /** Whether one more is refused because thousands wait; else it waits too, or is served. */
    private boolean isRefused() throws IOException {
        try {
            client(Transport.SHARED_MEMORY).connect(address(), 1_000);
            return false;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (ConnectException e) {
            assertTrue(e.getMessage().contains("thousands of connections wait"), e::toString);
            return true;
        }
    }

    @Test
    void onlyBeyondThousandsOneIsRefusedAndThatIsNotRemembered() throws Exception {
        int[] slots = {0};
        while (slots[0] < BACKLOG + MOST_HELD) {
            ask(slots[0]++);
        }
        Await.until("the queue to be full", () -> {
            ask(slots[0]++); // some came too fast and were refused
            return isRefused();
        });
        RdmaSocket elsewhere = client(Transport.AUTO);
        elsewhere.connect(address(), TIMEOUT_MILLIS);
        Transport taken = elsewhere.getOption(RdmaSocketOptions.TRANSPORT);
        assertTrue(taken.is(Transport.TCP) && taken.reason().contains("thousands of connections wait"), taken::reason);
        attacker.link.close(); // once the server's poller sees it, all its places are free
        Await.until("a place", () -> !isRefused());
        RdmaSocket next = client(Transport.AUTO);
        Call<Void> connect = Call.run(ThreadKind.VIRTUAL, "connect", () -> next.connect(address(), TIMEOUT_MILLIS));
        assertServed(next, connect);
        taken = next.getOption(RdmaSocketOptions.TRANSPORT);
        assertTrue(taken.is(Transport.SHARED_MEMORY), taken::reason);
        assertThrows(SocketTimeoutException.class, () -> {
            server.setSoTimeout(100);
            while (true) {
                server.accept().close(); // established before, or the one over TCP
            }
        });
    }
}
