package org.rdmasockets.internal.rpc.session;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcServer;

/** Any host may send a datagram: strangers reach no session, and a server under their flood answers its clients. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileDatagramTest {
    private static final byte[] PING = {1, 2, 3};
    private static final int COOKIE_BYTES = 40;

    private final Packet packet = new Packet();
    private final ByteBuffer buffer = ByteBuffer.allocate(2000);

    private void send(DatagramSocket from, InetSocketAddress to, int kind, byte[] payload) throws IOException {
        packet.kind = kind;
        packet.write(buffer, payload, 0, payload.length);
        from.send(new DatagramPacket(buffer.array(), buffer.limit(), to));
    }

    private boolean answered(DatagramSocket socket) throws IOException {
        DatagramPacket got = new DatagramPacket(new byte[2000], 2000);
        try {
            socket.receive(got);
        } catch (SocketTimeoutException e) {
            return false;
        }
        return packet.read(ByteBuffer.wrap(got.getData(), 0, got.getLength()));
    }

    @Test
    void aServerUnderAFloodAnswersThoseWhoseSessionStands() throws Exception {
        try (RpcServer server = RpcServer.builder().datagrams().unary("echo", (request, call) -> request)
                .listen(new InetSocketAddress("127.0.0.1", 0));
                RpcClient client = RpcClient.builder().datagrams().connect(server.localAddress());
                DatagramSocket stranger = new DatagramSocket()) {
            Random random = new Random(3);
            for (int i = 0; i < 20_000; i++) {
                packet.sender = random.nextLong();
                packet.receiver = random.nextLong();
                packet.number = random.nextInt(100);
                packet.acknowledged = random.nextLong();
                packet.room = random.nextInt();
                int kind = random.nextInt(10);
                send(stranger, server.localAddress(), kind, new byte[kind < Packet.DATA ? COOKIE_BYTES : 8]);
                byte[] garbage = new byte[random.nextInt(200)];
                random.nextBytes(garbage);
                stranger.send(new DatagramPacket(garbage, garbage.length, server.localAddress()));
                if (i % 100 == 0) {
                    assertArrayEquals(PING, client.call("echo", PING));
                }
            }
        }
    }

    /** Asks for a session as a client of a number, and goes no further than the server's answer. */
    private void halfOpen(DatagramSocket from, InetSocketAddress server, long client) throws IOException {
        packet.sender = client;
        send(from, server, Packet.INIT, new byte[COOKIE_BYTES]);
        assertTrue(answered(from), "no cookie");
        byte[] cookie = new byte[COOKIE_BYTES];
        packet.payload.get(cookie);
        packet.sender = client;
        send(from, server, Packet.OPEN, cookie);
        assertTrue(answered(from), "not let in");
    }

    /** More sessions than may wait to be confirmed: the oldest of these go. */
    @Test
    void aFloodOfSessionsThatAreNotConfirmedKeepsNoClientOut() throws Exception {
        try (RpcServer server = RpcServer.builder().datagrams().unary("echo", (request, call) -> request)
                .listen(new InetSocketAddress("127.0.0.1", 0));
                DatagramSocket stranger = new DatagramSocket()) {
            stranger.setSoTimeout(10_000);
            for (int i = 0; i < 1100; i++) {
                halfOpen(stranger, server.localAddress(), i + 1);
            }
            try (RpcClient client = RpcClient.builder().datagrams().connect(server.localAddress())) {
                assertArrayEquals(PING, client.call("echo", PING));
            }
        }
    }

    @Test
    void aCookieIsGoodForItsAddressAndClientOnly() throws Exception {
        try (RpcServer server = RpcServer.builder().datagrams().listen(new InetSocketAddress("127.0.0.1", 0));
                DatagramSocket one = new DatagramSocket(); DatagramSocket other = new DatagramSocket()) {
            one.setSoTimeout(10_000);
            other.setSoTimeout(300);
            packet.sender = 77;
            send(one, server.localAddress(), Packet.INIT, new byte[COOKIE_BYTES]);
            assertTrue(answered(one), "no cookie");
            byte[] cookie = new byte[COOKIE_BYTES];
            packet.payload.get(cookie);
            packet.sender = 77;
            send(other, server.localAddress(), Packet.OPEN, cookie);
            assertFalse(answered(other), "another address was let in");
            packet.sender = 77;
            send(one, server.localAddress(), Packet.OPEN, cookie);
            assertTrue(answered(one), "not let in");
            assertEquals(Packet.OPENED, packet.kind);
            long session = packet.sender;
            packet.sender = 77;
            send(one, server.localAddress(), Packet.OPEN, cookie);
            assertTrue(answered(one), "not let in");
            assertEquals(session, packet.sender, "a repeated handshake made another session");
        }
    }

    @Test
    void anAcknowledgementOfWhatWasNotSentIsIgnored() {
        Session session = new Session(1, 2, 100, 1000, 1000, 0);
        session.send(PING);
        assertTrue(session.next(buffer, 1));
        for (long[] lie : new long[][] {{2, 0, 64}, {-1, 0, 64}, {0, 1L << 40, 64}, {1, 0, 65}, {1, 0, -1}}) {
            packet.kind = Packet.ACK;
            packet.acknowledged = lie[0];
            packet.selective = lie[1];
            packet.room = (int) lie[2];
            session.receive(packet, 2);
            assertEquals(3, session.queuedBytes());
        }
        assertNull(session.failure());
        packet.acknowledged = 1;
        packet.selective = 0;
        packet.room = 64;
        session.receive(packet, 3);
        assertTrue(session.isSettled());
    }

    @Test
    void aMessageLongerThanTheLimitEndsItsSession() {
        Session session = new Session(1, 2, 100, 150, 1000, 0);
        for (int i = 0; i < 2; i++) {
            packet.kind = Packet.DATA;
            packet.number = i;
            packet.acknowledged = 0;
            packet.selective = 0;
            packet.room = 64;
            packet.flags = i == 0 ? Packet.FIRST : Packet.LAST;
            packet.payload = ByteBuffer.allocate(100);
            session.receive(packet, i);
        }
        assertTrue(session.failure().contains("150"), session.failure());
        assertThrows(IllegalStateException.class, () -> {
            session.end();
            session.send(PING);
        });
    }

    /** Pieces of a message are held as they come: many short ones count as the memory that they take. */
    @Test
    void shortPiecesAreCountedAndEmptyOnesEndTheirSession() {
        Session session = new Session(1, 2, 100, 150, 1000, 0);
        packet.kind = Packet.DATA;
        packet.acknowledged = 0;
        packet.selective = 0;
        packet.room = 64;
        for (int i = 0; i < 10; i++) {
            packet.number = i;
            packet.flags = i == 0 ? Packet.FIRST : 0;
            packet.payload = ByteBuffer.allocate(1);
            session.receive(packet, i);
            assertTrue(session.heldBytes() > 30L * (i + 1), () -> "holds " + session.heldBytes());
        }
        assertNull(session.failure());
        packet.number = 10;
        packet.payload = ByteBuffer.allocate(0);
        session.receive(packet, 10);
        assertTrue(session.failure().contains("a piece of 0 bytes"), session.failure());
        assertEquals(0, session.heldBytes());
    }

    @Test
    void lengthsThatLieAndDamagedPacketsAreNoPackets() {
        packet.kind = Packet.DATA;
        packet.write(buffer, new byte[50], 0, 50);
        byte[] whole = new byte[buffer.limit()];
        buffer.get(0, whole);
        assertTrue(packet.read(ByteBuffer.wrap(whole)));
        for (int bit = 0; bit < 8 * whole.length; bit++) {
            whole[bit / 8] ^= (byte) (1 << bit % 8);
            assertFalse(packet.read(ByteBuffer.wrap(whole)), "bit " + bit);
            whole[bit / 8] ^= (byte) (1 << bit % 8);
        }
        for (int length = 0; length < whole.length; length++) {
            assertFalse(packet.read(ByteBuffer.wrap(whole, 0, length)), length + " bytes");
        }
    }
}
