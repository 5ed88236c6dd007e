package org.rdmasockets.internal.datagram;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.connection.Engine;

/** A socket takes messages over UDP, where there is no RDMA device: it is the same machine for all tests. */
class IbverbsDatagramsTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final InetSocketAddress STRANGER = new InetSocketAddress(LOOPBACK, 9);
    private static final byte[] DATA = {1, 2, 3};

    private final DatagramInbox inbox = new DatagramInbox(1 << 20);
    private final List<byte[]> sent = new ArrayList<>();
    private final IbverbsDatagrams datagrams = new IbverbsDatagrams(new InetSocketAddress(LOOPBACK, 8), inbox,
            new DatagramWays.Udp() {
                @Override
                public void send(byte[] data, InetSocketAddress destination) {
                    sent.add(data);
                }

                @Override
                public void startReading() {
                    sent.add(new byte[0]);
                }
            });

    @AfterEach
    void close() {
        datagrams.close();
    }

    private static byte[] message() {
        return DatagramWire.message(DatagramWire.DATA, 17, LOOPBACK, MemorySegment.ofArray(DATA));
    }

    private byte[] received() throws IOException {
        DatagramInbox.Arrived arrived = inbox.receive(System.nanoTime());
        return arrived == null ? null : arrived.data();
    }

    /** Other programs may send anything, so it is theirs. */
    @Test
    void whatIsNotExactlyAMessageIsDataToWhoExpectsNone() throws IOException {
        byte[] almost = message();
        almost[5] = 1;
        datagrams.arrived(STRANGER, almost, false);
        assertArrayEquals(almost, received());
        byte[] fromElsewhere = DatagramWire.message(DatagramWire.DATA, 17, InetAddress.ofLiteral("10.1.1.1"),
                MemorySegment.ofArray(DATA));
        datagrams.arrived(STRANGER, fromElsewhere, false);
        assertArrayEquals(fromElsewhere, received());
        assertEquals(0, datagrams.dropped());
        assertEquals(0, datagrams.peerCount());
    }

    @Test
    void whatIsNotExactlyAMessageIsDroppedAndCountedByWhoExpectsThem() throws IOException {
        Random random = new Random(5);
        byte[] valid = message();
        int dropped = 0;
        for (int i = 0; i < 10_000; i++) {
            byte[] damaged = Arrays.copyOf(valid, 4 + random.nextInt(valid.length - 3));
            if (damaged.length > 4) {
                damaged[4 + random.nextInt(damaged.length - 4)] = (byte) random.nextInt();
            }
            if (DatagramWire.read(damaged, LOOPBACK) == null) {
                datagrams.arrived(STRANGER, damaged, true);
                dropped++;
                assertEquals(dropped, datagrams.dropped());
            }
        }
        assertTrue(dropped > 1000, "some are damaged: " + dropped);
        assertNull(received());
        assertEquals(0, datagrams.peerCount());
    }

    @Test
    void whoHasNoDeviceTakesMessagesAsDataAndSaysWhyItSendsNone() throws Exception {
        SocketException refusal = assertThrows(IbverbsDatagrams.NoWay.class,
                () -> datagrams.send(STRANGER, MemorySegment.ofArray(DATA)));
        assertTrue(refusal.getMessage().startsWith("no datagram to " + STRANGER + " over ibverbs: "),
                refusal.getMessage());
        datagrams.arrived(STRANGER, message(), true);
        assertArrayEquals(message(), received());
        assertEquals(List.of(), sent);
    }

    @Test
    void strangersAreRememberedUpToALimit() throws Exception {
        for (int port = 1; port <= 10_000; port++) {
            int from = port;
            assertThrows(IbverbsDatagrams.NoWay.class,
                    () -> datagrams.send(new InetSocketAddress(LOOPBACK, from), MemorySegment.ofArray(DATA)));
        }
        assertEquals(IbverbsDatagrams.MOST_PEERS, datagrams.peerCount());
    }

    @Test
    void aSendThatWaitsForItsQueuePairIsEndedByAClose() throws Exception {
        FutureTask<DatagramWays.Sent> send = new FutureTask<>(
                () -> datagrams.send(STRANGER, MemorySegment.ofArray(DATA)));
        synchronized (Engine.class) { // no engine can be had, and so no queue pair
            Thread sender = Thread.ofPlatform().start(send);
            Await.until("the sender waits", () -> sender.getState() == Thread.State.TIMED_WAITING);
            datagrams.close();
            Throwable end = assertThrows(ExecutionException.class, () -> send.get(20, TimeUnit.SECONDS)).getCause();
            assertEquals("Socket closed", assertInstanceOf(SocketException.class, end).getMessage());
        }
    }

    @Test
    void whoIsClosedSendsNothing() throws Exception {
        datagrams.close();
        datagrams.arrived(STRANGER, message(), true);
        assertArrayEquals(message(), received());
        assertEquals("Socket closed", assertThrows(SocketException.class,
                () -> datagrams.send(STRANGER, MemorySegment.ofArray(DATA))).getMessage());
        Await.until("nobody is remembered", () -> datagrams.peerCount() <= 1);
    }
}
