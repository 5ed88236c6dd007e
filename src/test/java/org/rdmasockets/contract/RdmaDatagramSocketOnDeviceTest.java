package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.TestDevice;
import org.rdmasockets.Transport;

/** RDMA datagram sockets at a device's address: over its queue pairs; over UDP where it has none for datagrams. */
@Tag("device")
class RdmaDatagramSocketOnDeviceTest extends RdmaDatagramSocketContract {
    private static final boolean ABLE = !TestDevice.name().startsWith("siw");
    /** Of a packet of 1024 bytes, behind the header. */
    private static final int MOST = 1016;

    private byte number;
    /** A datagram of the acquaintance did not come in time, and may yet. */
    private boolean late;

    RdmaDatagramSocketOnDeviceTest() {
        super(ABLE ? Transport.IBVERBS : Transport.UDP, ABLE ? Transport.IBVERBS : Transport.UDP);
    }

    @Override
    InetAddress address() {
        return TestDevice.address();
    }

    /** Until each knows the other's queue pair; what has come late over UDP by then is not the test's. */
    @Override
    void acquaint(DatagramSocket one, DatagramSocket other) throws Exception {
        late = false;
        Await.until("both use their queue pairs", () -> {
            boolean there = go(one, other);
            return go(other, one) && there;
        });
        while (late) {
            late = arrives(one) || arrives(other);
        }
    }

    private static boolean arrives(DatagramSocket at) throws IOException {
        int before = at.getSoTimeout();
        at.setSoTimeout(500);
        try {
            at.receive(new DatagramPacket(new byte[2], 2));
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        } finally {
            at.setSoTimeout(before);
        }
    }

    /** Whether a datagram goes by the queue pair, and arrives: it may go to one that was there before. */
    private boolean go(DatagramSocket from, DatagramSocket to) throws IOException {
        number++;
        from.send(new DatagramPacket(new byte[] {number, 7}, 2, to.getLocalSocketAddress()));
        boolean goes = is(from);
        DatagramPacket packet = new DatagramPacket(new byte[2], 2);
        int before = to.getSoTimeout();
        to.setSoTimeout(500);
        try {
            do {
                to.receive(packet);
            } while (packet.getData()[0] != number);
            return goes && is(to);
        } catch (SocketTimeoutException e) {
            late = true;
            return false;
        } finally {
            to.setSoTimeout(before);
        }
    }

    /** On a slow machine a second passes without a sign of the other, and then one datagram goes over UDP to ask. */
    @Override
    void check(DatagramSocket used) throws IOException {
        assertTrue(is(used) || used.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.UDP));
    }

    private boolean is(DatagramSocket socket) throws IOException {
        return socket.getOption(RdmaSocketOptions.TRANSPORT).is(ABLE ? Transport.IBVERBS : Transport.UDP);
    }

    @Override
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 64, 1000, MOST})
    void dataAndSenderArrive(int bytes) throws Exception {
        super.dataAndSenderArrive(bytes);
    }

    @ParameterizedTest
    @ValueSource(ints = {MOST + 1, 4096, 65_000})
    void whatIsLongerThanAPacketIsRefused(int bytes) throws Exception {
        assumeTrue(ABLE, "device limit: iWARP has no datagrams");
        DatagramPacket packet = new DatagramPacket(new byte[bytes], bytes, second().getLocalSocketAddress());
        String message = assertThrows(IOException.class, () -> first().send(packet)).getMessage();
        assertTrue(message.contains("EMSGSIZE (bytes=" + bytes + ", limit=" + MOST + ")"), message);
        first().setOption(RdmaSocketOptions.TRANSPORT, Transport.UDP);
        first().send(packet);
        DatagramPacket received = new DatagramPacket(new byte[65_000], 65_000);
        second().receive(received);
        assertEquals(bytes, received.getLength());
    }

    @Test
    void addressesOfVersionSixLeadThere() throws Exception {
        InetAddress six = TestDevice.address6().orElse(null);
        assumeTrue(six != null, "the device's interface has no address of version 6");
        try (DatagramSocket one = socket(new InetSocketAddress(six, 0));
                DatagramSocket other = socket(new InetSocketAddress(six, 0))) {
            acquaint(one, other);
            DatagramPacket packet = new DatagramPacket(new byte[] {1, 2, 3}, 3, other.getLocalSocketAddress());
            one.send(packet);
            check(one);
            other.setSoTimeout((int) Await.LIMIT_SECONDS * 1000);
            other.receive(packet);
            check(other);
            assertEquals(one.getLocalSocketAddress(), packet.getSocketAddress());
        }
    }

    /** The second socket is told nothing, and answers as it is asked. */
    @Test
    void whoIsToldNothingAnswersAsItIsAsked() throws Exception {
        assumeTrue(ABLE, "device limit: iWARP has no datagrams");
        try (DatagramSocket auto = new RdmaDatagramSocket(new InetSocketAddress(address(), 0));
                DatagramSocket asking = socket(new InetSocketAddress(address(), 0))) {
            auto.setSoTimeout((int) Await.LIMIT_SECONDS * 1000);
            asking.setSoTimeout((int) Await.LIMIT_SECONDS * 1000);
            auto.setOption(RdmaSocketOptions.TRANSPORT, Transport.AUTO);
            acquaint(asking, auto);
            DatagramPacket packet = new DatagramPacket(new byte[2000], 2000, asking.getLocalSocketAddress());
            auto.send(packet); // longer than a packet
            assertEquals("udp", auto.getOption(RdmaSocketOptions.TRANSPORT).name());
            asking.receive(packet);
            assertEquals(2000, packet.getLength());
        }
    }

    @Test
    void aDeviceWithoutDatagramsSaysSo() throws Exception {
        assumeTrue(!ABLE, "this device has datagrams");
        first().setOption(RdmaSocketOptions.TRANSPORT, Transport.IBVERBS);
        DatagramPacket packet = new DatagramPacket(new byte[1], 1, second().getLocalSocketAddress());
        String message = assertThrows(SocketException.class, () -> first().send(packet)).getMessage();
        assertTrue(message.contains(TestDevice.name()) && message.contains("has no datagrams"), message);
    }

    /** The sockets survive every message of a stranger. */
    @Test
    void hostileMessagesChangeNothing() throws Exception {
        assumeTrue(ABLE, "device limit: iWARP has no datagrams");
        Random random = new Random(1);
        byte[] valid = {0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0, 0, 0, 0, 17, 10, 77, 0, 1, 1, 2, 3};
        try (DatagramSocket stranger = new DatagramSocket(new InetSocketAddress(address(), 0))) {
            for (int i = 0; i < 3000; i++) {
                byte[] message = Arrays.copyOf(valid, 4 + random.nextInt(valid.length - 3));
                message[random.nextInt(message.length)] = (byte) random.nextInt();
                stranger.send(new DatagramPacket(message, message.length, second().getLocalSocketAddress()));
            }
        }
        second().setSoTimeout(100);
        DatagramPacket packet = new DatagramPacket(new byte[64], 64);
        Await.until("what strangers sent is over", () -> {
            try {
                second().receive(packet);
                return false;
            } catch (SocketTimeoutException e) {
                return true;
            }
        });
        second().setSoTimeout((int) Await.LIMIT_SECONDS * 1000);
        acquaint(first(), second()); // it may have taken so long that they ask again
        byte[] sent = {1, 2, 3};
        first().send(new DatagramPacket(sent, 3, second().getLocalSocketAddress()));
        check(first());
        second().receive(packet);
        check(second());
        assertArrayEquals(sent, Arrays.copyOf(packet.getData(), packet.getLength()));
    }

    /** Many strangers speak so once: only some are remembered, and a forgotten one only falls back to UDP. */
    @Test
    void manyStrangersDisplaceNobodyForLong() throws Exception {
        assumeTrue(ABLE, "device limit: iWARP has no datagrams");
        byte[] valid = {0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0, 0, 0, 0, 17, 10, 77, 0, 1, 1};
        for (int i = 0; i < 9000; i++) { // more than are remembered
            try (DatagramSocket stranger = new DatagramSocket(new InetSocketAddress(address(), 0))) {
                stranger.send(new DatagramPacket(valid, valid.length, second().getLocalSocketAddress()));
            }
        }
        acquaint(first(), second());
    }
}
