package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** The behaviour of a datagram socket; the JDK's own sets the standard. */
abstract class DatagramSocketContract {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int GUARD_MILLIS = (int) (Await.LIMIT_SECONDS * 1000);
    private static final int WINDOW = 32;
    private static final int NUMBERED_BYTES = 64;

    private DatagramSocket a;
    private DatagramSocket b;

    /** A new socket, unbound for null. */
    abstract DatagramSocket socket(SocketAddress address) throws IOException;

    /** Asked after each exchange. */
    void check(DatagramSocket used) throws IOException {
        assertFalse(used.isClosed());
    }

    /** Where sockets are. */
    InetAddress address() {
        return LOOPBACK;
    }

    /** Before each test: where the first datagrams go another way, they may be overtaken. */
    void acquaint(DatagramSocket one, DatagramSocket other) throws Exception {
        assertTrue(one.isBound() && other.isBound());
    }

    private DatagramSocket bound() throws IOException {
        DatagramSocket made = socket(new InetSocketAddress(address(), 0));
        made.setSoTimeout(GUARD_MILLIS);
        return made;
    }

    @BeforeEach
    void open() throws Exception {
        a = bound();
        b = bound();
        acquaint(a, b);
    }

    @AfterEach
    void close() {
        a.close();
        b.close();
    }

    private static DatagramPacket to(DatagramSocket target, byte... data) {
        return new DatagramPacket(data, data.length, target.getLocalSocketAddress());
    }

    private static DatagramPacket room(int bytes) {
        return new DatagramPacket(new byte[bytes], bytes);
    }

    private static byte[] data(DatagramPacket packet) {
        byte[] data = new byte[packet.getLength()];
        System.arraycopy(packet.getData(), packet.getOffset(), data, 0, data.length);
        return data;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 64, 1472, 4096, 16_000})
    void dataAndSenderArrive(int bytes) throws Exception {
        byte[] sent = new byte[bytes];
        new Random(bytes).nextBytes(sent);
        a.send(to(b, sent));
        check(a);
        DatagramPacket received = room(20_000);
        b.receive(received);
        check(b);
        assertArrayEquals(sent, data(received));
        assertEquals(a.getLocalSocketAddress(), received.getSocketAddress());
    }

    @Test
    void partOfAnArrayIsSentAndReceived() throws Exception {
        a.send(new DatagramPacket(new byte[] {0, 1, 2, 3}, 1, 2, b.getLocalSocketAddress()));
        DatagramPacket received = new DatagramPacket(new byte[6], 3, 3);
        b.receive(received);
        assertArrayEquals(new byte[] {0, 0, 0, 1, 2, 0}, received.getData());
        assertEquals(3, received.getOffset());
        assertEquals(2, received.getLength());
    }

    @Test
    void whatIsTooLongIsCutAndThePacketKeepsItsRoom() throws Exception {
        DatagramPacket received = room(4);
        for (byte[] sent : new byte[][] {{1, 2, 3, 4, 5, 6}, {7}, {8, 9, 10}, {}, {11, 12, 13, 14}}) {
            a.send(to(b, sent));
            b.receive(received);
            assertArrayEquals(Arrays.copyOf(sent, Math.min(4, sent.length)), data(received));
        }
        received.setLength(2);
        a.send(to(b, (byte) 1, (byte) 2, (byte) 3));
        b.receive(received);
        assertArrayEquals(new byte[] {1, 2}, data(received));
        DatagramPacket[] taken = {received, room(3), room(5)}; // each keeps its own
        for (int bytes : new int[] {1, 0, 5}) {
            for (DatagramPacket one : taken) {
                a.send(to(b, new byte[bytes]));
                b.receive(one);
                assertEquals(Math.min(bytes, one == received ? 2 : one.getData().length), one.getLength());
            }
        }
    }

    @Test
    void whatWasReceivedCanBeSentBack() throws Exception {
        a.send(to(b, (byte) 5, (byte) 6));
        DatagramPacket packet = room(100);
        b.receive(packet);
        b.send(packet);
        DatagramPacket back = room(100);
        a.receive(back);
        assertArrayEquals(new byte[] {5, 6}, data(back));
        assertEquals(b.getLocalSocketAddress(), back.getSocketAddress());
    }

    @Test
    void datagramOfAPlainSocketArrivesAndIsAnswered() throws Exception {
        try (DatagramSocket plain = new DatagramSocket(new InetSocketAddress(address(), 0))) {
            plain.setSoTimeout(GUARD_MILLIS);
            plain.send(to(b, (byte) 9));
            DatagramPacket packet = room(10);
            b.receive(packet);
            assertEquals(plain.getLocalSocketAddress(), packet.getSocketAddress());
            answer(packet);
            DatagramPacket back = room(10);
            plain.receive(back);
            assertArrayEquals(new byte[] {9}, data(back));
        }
    }

    /** Over UDP, as the other side has nothing else. */
    void answer(DatagramPacket packet) throws Exception {
        b.send(packet);
    }

    DatagramSocket first() {
        return a;
    }

    DatagramSocket second() {
        return b;
    }

    @ParameterizedTest
    @EnumSource
    void receiverWaitsAndIsWoken(ThreadKind kind) throws Exception {
        Call<byte[]> receive = Call.start(kind, "receive", () -> {
            DatagramPacket packet = room(10);
            b.receive(packet);
            return data(packet);
        });
        receive.awaitBlocked();
        a.send(to(b, (byte) 3));
        assertArrayEquals(new byte[] {3}, receive.result());
    }

    @ParameterizedTest
    @EnumSource
    void receiveEndsByItsTimeout(ThreadKind kind) throws Exception {
        b.setSoTimeout(20);
        assertEquals(20, b.getSoTimeout());
        Call.run(kind, "receive", () -> b.receive(room(10))).failure(SocketTimeoutException.class);
        b.setSoTimeout(GUARD_MILLIS);
        a.send(to(b, (byte) 4));
        b.receive(room(10));
    }

    @ParameterizedTest
    @EnumSource
    void closeEndsAReceive(ThreadKind kind) throws Exception {
        Call<Void> receive = Call.run(kind, "receive", () -> b.receive(room(10))).awaitBlocked();
        b.close();
        assertEquals("Socket closed", receive.failure(SocketException.class).getMessage());
    }

    @Test
    void interruptOfAVirtualThreadClosesTheSocket() throws Exception {
        Call<Void> receive = Call.run(ThreadKind.VIRTUAL, "receive", () -> b.receive(room(10))).awaitBlocked();
        receive.interrupt();
        receive.failure(SocketException.class);
        assertTrue(receive.interruptedAtEnd());
        checkClosedByInterrupt(b);
    }

    /** Sends to a new peer, whose way is still to be found out. */
    @ParameterizedTest
    @EnumSource
    void interruptsDoNotHinderASend(ThreadKind kind) throws Exception {
        try (DatagramSocket plain = new DatagramSocket(new InetSocketAddress(address(), 0))) {
            plain.setSoTimeout(GUARD_MILLIS);
            Call<Boolean> send = Call.start(kind, "send", () -> {
                Thread.currentThread().interrupt();
                toPlain(to(plain, (byte) 5));
                return Thread.currentThread().isInterrupted();
            });
            assertTrue(send.result(), "the thread's status");
            DatagramPacket received = room(10);
            plain.receive(received);
            assertArrayEquals(new byte[] {5}, data(received));
            assertFalse(a.isClosed());
        }
    }

    /** Sends by the first socket to one that knows UDP only. */
    void toPlain(DatagramPacket packet) throws Exception {
        a.send(packet);
    }

    void checkClosedByInterrupt(DatagramSocket interrupted) throws Exception {
        assertTrue(interrupted.isClosed());
    }

    @Test
    void interruptOfAPlatformThreadChangesNothing() throws Exception {
        Call<Void> receive = Call.run(ThreadKind.PLATFORM, "receive", () -> b.receive(room(10))).awaitBlocked();
        receive.interrupt();
        receive.awaitBlocked();
        a.send(to(b, (byte) 1));
        receive.result();
        assertTrue(receive.interruptedAtEnd());
    }

    @Test
    void closedSocketRefusesAndItsPortIsFree() throws Exception {
        b.close();
        SocketAddress port = new InetSocketAddress(address(), FreePorts.next(address()));
        b = socket(port);
        b.receive(received());
        b.close();
        b.close();
        assertTrue(b.isClosed());
        assertTrue(b.isBound());
        assertEquals(-1, b.getLocalPort());
        assertNull(b.getLocalSocketAddress());
        assertEquals("Socket closed", assertThrows(SocketException.class, () -> b.receive(room(1))).getMessage());
        assertEquals(noMoreSends(), assertThrows(SocketException.class, () -> b.send(to(a))).getMessage());
        assertThrows(SocketException.class, () -> b.setSoTimeout(1));
        Await.until("the port is free", () -> rebind(port)); // a process that starts meanwhile has it for a moment
        b.setSoTimeout(GUARD_MILLIS);
        acquaint(a, b);
        a.send(to(b, (byte) 2));
        b.receive(room(1));
        check(b);
    }

    /** A closed socket says this to a send. */
    String noMoreSends() {
        return "Socket closed";
    }

    private boolean rebind(SocketAddress port) throws IOException {
        try {
            b = socket(port);
            return true;
        } catch (BindException e) {
            return false;
        }
    }

    /** A packet that the second socket is about to have. */
    private DatagramPacket received() throws IOException {
        a.send(to(b, (byte) 1));
        return room(1);
    }

    @Test
    void connectedSocketHearsItsPeerOnly() throws Exception {
        assertFalse(b.isConnected());
        assertEquals(-1, b.getPort());
        assertNull(b.getInetAddress());
        try (DatagramSocket other = bound()) {
            other.send(to(b, (byte) 1));
            b.connect(a.getLocalSocketAddress());
            other.send(to(b, (byte) 2));
            a.send(to(b, (byte) 3));
            DatagramPacket packet = room(1);
            b.receive(packet);
            assertEquals(3, packet.getData()[0]);
            assertEquals(a.getLocalSocketAddress(), b.getRemoteSocketAddress());
            assertEquals(a.getLocalPort(), b.getPort());
            assertThrows(IllegalArgumentException.class, () -> b.send(to(other)));
            DatagramPacket unaddressed = new DatagramPacket(new byte[] {4}, 1);
            b.send(unaddressed);
            assertEquals(a.getLocalSocketAddress(), unaddressed.getSocketAddress());
            a.receive(packet);
            assertEquals(4, packet.getData()[0]);
            b.disconnect();
            assertFalse(b.isConnected());
            assertNull(b.getRemoteSocketAddress());
            other.send(to(b, (byte) 5));
            b.receive(packet);
            assertEquals(other.getLocalSocketAddress(), packet.getSocketAddress());
        }
    }

    /** A socket that may send to the wildcard, where no shared memory leads. */
    private DatagramSocket onWildcard() throws IOException {
        DatagramSocket made = socket(new InetSocketAddress(0));
        return made.supportedOptions().contains(RdmaSocketOptions.TRANSPORT)
                ? made.setOption(RdmaSocketOptions.TRANSPORT, Transport.AUTO) : made;
    }

    @Test
    void socketConnectedToTheWildcardHearsThisHost() throws Exception {
        try (DatagramSocket server = onWildcard(); DatagramSocket client = onWildcard();
                DatagramSocket other = onWildcard()) {
            server.setSoTimeout(GUARD_MILLIS);
            client.setSoTimeout(GUARD_MILLIS);
            InetSocketAddress wildcard = new InetSocketAddress("0.0.0.0", server.getLocalPort());
            client.connect(wildcard);
            assertEquals(wildcard, client.getRemoteSocketAddress());
            client.send(new DatagramPacket(new byte[] {1}, 1));
            DatagramPacket packet = room(1);
            server.receive(packet);
            assertTrue(packet.getAddress().isLoopbackAddress(), packet.getSocketAddress().toString());
            assertEquals(client.getLocalPort(), packet.getPort());
            other.send(new DatagramPacket(new byte[] {2}, 1, packet.getSocketAddress()));
            server.send(new DatagramPacket(new byte[] {3}, 1, packet.getSocketAddress()));
            client.receive(packet);
            assertEquals(3, packet.getData()[0]);
            assertTrue(packet.getAddress().isLoopbackAddress(), packet.getSocketAddress().toString());
            assertEquals(server.getLocalPort(), packet.getPort());
            assertThrows(IllegalArgumentException.class, () -> client.send(packet)); // it has the loopback's address
            assertEquals(wildcard, client.getRemoteSocketAddress());
        }
    }

    @Test
    void unboundSocketIsBoundByItsFirstUse() throws Exception {
        try (DatagramSocket late = socket(null)) {
            assertFalse(late.isBound());
            assertEquals(0, late.getLocalPort());
            assertNull(late.getLocalSocketAddress());
            late.send(to(b, (byte) 1));
            assertTrue(late.isBound());
            DatagramPacket packet = room(1);
            b.receive(packet);
            assertEquals(late.getLocalPort(), packet.getPort());
            assertEquals(address(), packet.getAddress());
            assertThrows(SocketException.class, () -> late.bind(new InetSocketAddress(0)));
            b.send(packet);
            late.receive(packet);
            assertThrows(SocketException.class, () -> late.bind(new InetSocketAddress(0)), "also after a receive");
        }
        try (DatagramSocket connected = socket(null)) {
            connected.connect(a.getLocalSocketAddress());
            assertTrue(connected.isBound());
            assertEquals(address(), connected.getLocalAddress());
        }
    }

    @Test
    void portIsTakenOnce() throws Exception {
        assertThrows(SocketException.class, () -> socket(a.getLocalSocketAddress()));
        a.send(to(b, (byte) 1));
        b.receive(room(1));
    }

    @Test
    void wrongArgumentsAreRefused() throws Exception {
        assertThrows(IllegalArgumentException.class, () -> a.send(new DatagramPacket(new byte[1], 1)));
        assertThrows(SocketException.class, () -> a.send(new DatagramPacket(new byte[1], 1, LOOPBACK, 0)));
        assertThrows(IllegalArgumentException.class, () -> a.connect(null));
        assertThrows(IllegalArgumentException.class, () -> a.connect(null, 1));
        assertThrows(IllegalArgumentException.class, () -> a.connect(LOOPBACK, 70_000));
        assertThrows(SocketException.class, () -> a.connect(InetSocketAddress.createUnresolved("nowhere.invalid", 1)));
        assertThrows(IllegalArgumentException.class, () -> a.setSoTimeout(-1));
        assertThrows(NullPointerException.class, () -> a.receive(null));
        assertThrows(IOException.class, () -> a.send(to(b, new byte[65_535])));
        assertNull(a.getChannel());
    }

    @Test
    void optionsAreKept() throws Exception {
        a.setReceiveBufferSize(64 << 10);
        assertTrue(a.getReceiveBufferSize() >= 64 << 10);
        a.setOption(StandardSocketOptions.SO_SNDBUF, 64 << 10);
        assertTrue(a.getSendBufferSize() >= 64 << 10);
        a.setBroadcast(true);
        assertTrue(a.getBroadcast());
        a.setReuseAddress(true);
        assertTrue(a.getReuseAddress());
        assertNotNull(a.getOption(StandardSocketOptions.IP_MULTICAST_TTL));
        assertTrue(a.supportedOptions().contains(StandardSocketOptions.SO_BROADCAST));
    }

    @Test
    void receiverThatDoesNotReadLosesDatagramsAndNothingElse() throws Exception {
        for (int i = 0; i < 2000; i++) {
            a.send(to(b, new byte[1000]));
        }
        int received = -1;
        DatagramPacket packet;
        do {
            received++;
            a.send(to(b, (byte) 1)); // until there is room for one of these
            packet = room(1000);
            b.receive(packet);
        } while (packet.getLength() != 1);
        assertTrue(received > 0 && received < 2000, "some are kept: " + received);
    }

    /** Some may be lost, over UDP most. */
    @ParameterizedTest
    @EnumSource
    void aFloodReachesAReceiverThatReads(ThreadKind kind) throws Exception {
        int many = 5_000;
        Call<Integer> receive = Call.start(kind, "receive", () -> {
            BitSet come = new BitSet();
            DatagramPacket packet = room(1000);
            for (b.receive(packet); packet.getLength() == 1000; b.receive(packet)) {
                int number = ByteBuffer.wrap(packet.getData()).getInt();
                assertTrue(!come.get(number) && (!isInOrder() || number >= come.length()), "number " + number);
                come.set(number);
            }
            return come.cardinality();
        });
        ByteBuffer data = ByteBuffer.allocate(1000);
        for (int i = 0; i < many; i++) {
            data.putInt(0, i);
            a.send(to(b, data.array()));
        }
        Await.until("the end is received", () -> {
            a.send(to(b, (byte) 1));
            return receive.isDone();
        });
        int received = receive.result();
        assertTrue(received > 0, "of " + many + " came " + received);
        check(a);
    }

    @Test
    void hundredThousandArriveWithAWindow() throws Exception {
        manyArriveWithAWindow(100_000);
    }

    /** Whether one datagram never overtakes another; over UDP one may, whose sender has moved to another processor. */
    boolean isInOrder() {
        return false;
    }

    void manyArriveWithAWindow(int many) throws Exception {
        Call<Void> echo = Call.run(ThreadKind.VIRTUAL, "echo", () -> {
            for (int i = 0; i < many / WINDOW; i++) {
                BitSet come = new BitSet();
                DatagramPacket last = null;
                for (int j = 0; j < WINDOW; j++) {
                    last = numbered(b, come);
                    int number = ByteBuffer.wrap(last.getData()).getInt();
                    assertTrue(isInOrder() ? number == i * WINDOW + j : number / WINDOW == i, "number " + number
                            + " in place " + j + " of window " + i);
                    assertFalse(come.get(number), "number " + number + " came twice");
                    come.set(number);
                }
                b.send(last);
            }
        });
        ByteBuffer data = ByteBuffer.allocate(NUMBERED_BYTES);
        DatagramPacket packet = new DatagramPacket(data.array(), NUMBERED_BYTES, b.getLocalSocketAddress());
        for (int i = 0; i < many; i++) {
            data.putInt(0, i);
            a.send(packet);
            if (i % WINDOW == WINDOW - 1) {
                int last = answer(echo, i); // others may have overtaken it
                assertEquals(isInOrder() ? i : i / WINDOW, isInOrder() ? last : last / WINDOW);
            }
        }
        echo.result();
        check(a);
    }

    private int answer(Call<Void> echo, int sent) throws Exception {
        try {
            return ByteBuffer.wrap(numbered(a, sent).getData()).getInt();
        } catch (AssertionError e) {
            echo.result(); // fails for the same reason, and knows what came
            throw e;
        }
    }

    /** The next datagram of the test's own: one of those before it may come late, where it went another way. */
    private static DatagramPacket numbered(DatagramSocket at, Object before) throws IOException {
        DatagramPacket packet = room(NUMBERED_BYTES);
        try {
            do {
                packet.setLength(NUMBERED_BYTES);
                at.receive(packet);
            } while (packet.getLength() != NUMBERED_BYTES);
        } catch (SocketTimeoutException e) {
            throw new AssertionError("nothing came any more after " + before, e);
        }
        return packet;
    }

    @Test
    void manySendersReachOneReceiver() throws Exception {
        int senders = 20;
        List<Call<Void>> calls = new ArrayList<>();
        for (int i = 0; i < senders; i++) {
            byte number = (byte) i;
            calls.add(Call.run(ThreadKind.VIRTUAL, "sender", () -> {
                try (DatagramSocket sender = bound()) {
                    sender.send(to(b, number));
                    sender.receive(room(1));
                }
            }));
        }
        BitSet heard = new BitSet();
        DatagramPacket packet = room(1);
        while (heard.cardinality() < senders) {
            b.receive(packet);
            heard.set(packet.getData()[0]);
            b.send(packet);
        }
        for (Call<Void> call : calls) {
            call.result();
        }
    }
}
