package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;

/** Messages: any size, immediate data, back-pressure, many threads. */
abstract class EndpointMessageContract extends EndpointContract {
    @Test
    void messagesOfManySizesArriveWhole() throws Exception {
        Pair pair = connect();
        for (int size : new int[] {1, 64, 8136, 8137, 100_000, 1_000_003, 1 << 22}) {
            Call<Void> send = start("send " + size, () -> {
                try (LocalRegion region = filled(pair.client(), size, size)) {
                    pair.client().send(region);
                }
                return null;
            });
            try (Message message = pair.server().receive(PATIENCE)) {
                assertEquals(size, message.length());
                assertArrayEquals(random(size, size), message.toArray());
                assertTrue(message.immediate().isEmpty());
            }
            send.result();
        }
    }

    /** RDMA-RPC: a thousand messages of 64 bytes. */
    @Test
    void aThousandSmallMessagesArriveInOrder() throws Exception {
        Pair pair = connect();
        Call<Void> send = run("send", () -> {
            for (int i = 0; i < 1000; i++) {
                try (LocalRegion region = filled(pair.client(), 64, i)) {
                    pair.client().send(region);
                }
            }
        });
        for (int i = 0; i < 1000; i++) {
            try (Message message = pair.server().receive(PATIENCE)) {
                assertArrayEquals(random(64, i), message.toArray(), "message " + i);
            }
        }
        send.result();
    }

    @Test
    void aReceiverIsWokenUpAndLosesNothing() throws Exception {
        Pair pair = connect();
        for (ThreadKind kind : ThreadKind.values()) {
            Call<Message> receive = Call.start(kind, "receive", () -> pair.server().receive(PATIENCE)).awaitBlocked();
            pair.server().wakeup();
            assertThrows(SocketTimeoutException.class, receive::result);
        }
        pair.server().wakeup();
        assertNull(pair.server().poll());
        assertThrows(SocketTimeoutException.class, () -> pair.server().receive(PATIENCE));
        pair.server().wakeup();
        pair.server().wakeup();
        pair.client().sendImmediate(9);
        Await.until("the message", () -> {
            try (Message message = pair.server().poll()) {
                return message != null && message.immediate().equals(OptionalInt.of(9));
            }
        });
        assertThrows(SocketTimeoutException.class, () -> pair.server().receive(PATIENCE));
        pair.client().sendImmediate(10);
        try (Message message = pair.server().receive(PATIENCE)) {
            assertEquals(OptionalInt.of(10), message.immediate());
        }
        pair.server().close();
        pair.server().wakeup();
        assertThrows(EndpointException.class, pair.server()::receive);
    }

    @Test
    void pollTakesWhatHasComeAsAWholeAndDoesNotWait() throws Exception {
        Pair pair = connect();
        assertNull(pair.server().poll());
        for (int size : new int[] {64, 8137, 1_000_003}) {
            Call<Void> send = start("send " + size, () -> {
                try (LocalRegion region = filled(pair.client(), size, size)) {
                    pair.client().send(region);
                }
                return null;
            });
            List<byte[]> polled = new ArrayList<>();
            Await.until("a message of " + size + " bytes", () -> {
                try (Message message = pair.server().poll()) {
                    return message != null && polled.add(message.toArray());
                }
            });
            assertArrayEquals(random(size, size), polled.getFirst());
            assertNull(pair.server().poll());
            send.result();
        }
        Call<Message> receive = start("receive", () -> pair.server().receive(PATIENCE)).awaitBlocked();
        pair.client().sendImmediate(9);
        Await.until("what a waiting receive gets", () -> {
            assertNull(pair.server().poll(), "a message that another waits for");
            return receive.isDone();
        });
        assertEquals(OptionalInt.of(9), receive.result().immediate());
        pair.server().close();
        assertThrows(EndpointException.class, () -> pair.server().receive());
    }

    @Test
    void arraysAreWhatMessagesAreOfOnePieceOrMore() throws Exception {
        Pair pair = connect();
        assertNull(pair.server().pollArray(MOST));
        for (int size : new int[] {1, 64, 8136, 8137, 1_000_003}) {
            Call<Void> send = start("send " + size, () -> {
                try (LocalRegion region = filled(pair.client(), size, size)) {
                    pair.client().send(region);
                    pair.client().send(region);
                }
                return null;
            });
            assertNull(pair.server().receiveArray(size - 1, PATIENCE), "it is longer, and stays");
            assertArrayEquals(random(size, size), pair.server().receiveArray(size, PATIENCE));
            AtomicReference<byte[]> polled = new AtomicReference<>();
            Await.until("an array of " + size + " bytes", () -> {
                polled.set(pair.server().pollArray(MOST));
                return polled.get() != null;
            });
            assertArrayEquals(random(size, size), polled.get());
            assertNull(pair.server().pollArray(MOST));
            send.result();
        }
        pair.client().sendImmediate(9);
        assertArrayEquals(new byte[0], pair.server().receiveArray(MOST, PATIENCE));
        pair.server().wakeup();
        assertThrows(SocketTimeoutException.class, () -> pair.server().receiveArray(MOST, PATIENCE));
        pair.client().close();
        assertThrows(EndpointException.class, () -> pair.server().receiveArray(MOST, PATIENCE));
    }

    /** async-rdma: immediate data present, absent and ignored. */
    @Test
    void immediateDataIsPresentOrAbsentOrIgnored() throws Exception {
        Pair pair = connect();
        LocalRegion region = filled(pair.client(), 20_000, 1);
        pair.client().send(region, -7);
        pair.client().send(region);
        pair.client().sendImmediate(0);
        pair.client().send(region, 8);
        assertEquals(OptionalInt.of(-7), pair.server().receive(PATIENCE).immediate());
        assertEquals(OptionalInt.empty(), pair.server().receive(PATIENCE).immediate());
        Message nothing = pair.server().receive(PATIENCE);
        assertEquals(OptionalInt.of(0), nothing.immediate());
        assertEquals(0, nothing.length());
        assertEquals(0, nothing.toArray().length);
        assertThrows(IllegalStateException.class, nothing::region);
        assertArrayEquals(random(20_000, 1), pair.server().receive(PATIENCE).toArray());
    }

    /** async-rdma: ten concurrent sends and receives on one connection. */
    @Test
    void tenSendersAndTenReceiversOnOneConnection() throws Exception {
        Pair pair = connect();
        Set<Integer> received = ConcurrentHashMap.newKeySet();
        List<Call<Void>> calls = new ArrayList<>();
        for (int thread = 0; thread < 10; thread++) {
            int number = thread;
            calls.add(start("receiver " + number, () -> {
                for (int i = 0; i < 20; i++) {
                    try (Message message = pair.server().receive(PATIENCE)) {
                        int key = message.immediate().orElseThrow();
                        assertArrayEquals(random((int) message.length(), key), message.toArray());
                        assertTrue(received.add(key), "twice: " + key);
                    }
                }
                return null;
            }));
            calls.add(start("sender " + number, () -> {
                for (int i = 0; i < 20; i++) {
                    int key = 1000 * number + i;
                    try (LocalRegion region = filled(pair.client(), 1 + 700 * i, key)) {
                        pair.client().send(region, key);
                    }
                }
                return null;
            }));
        }
        for (Call<Void> call : calls) {
            call.result();
        }
        assertEquals(200, received.size());
    }

    /** rdma-io: back-pressure, and recovery from it. */
    @Test
    void aSenderWaitsForASlowReceiver() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(4, 1024));
        LocalRegion region = filled(pair.client(), 900, 3);
        for (int i = 0; i < 4; i++) {
            pair.client().send(region);
        }
        Call<Void> fifth = run("fifth send", () -> pair.client().send(region)).awaitBlocked();
        for (int i = 0; i < 5; i++) {
            assertArrayEquals(random(900, 3), pair.server().receive(PATIENCE).toArray());
        }
        fifth.result();
    }

    /** A message that is longer than all of the peer's buffers together. */
    @Test
    void aMessageMayBeLongerThanAllBuffers() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(2, 256));
        LocalRegion region = filled(pair.client(), 50_000, 4);
        Pending<Void> sent = pair.client().startSend(region);
        assertArrayEquals(random(50_000, 4), pair.server().receive(PATIENCE).toArray());
        sent.await(PATIENCE);
    }

    /** rdma-io: both sides writing at once do not block each other. */
    @Test
    void bothEndsSendManyBeforeEitherReceives() throws Exception {
        Pair pair = connect(builder().receiveBuffers(4, 512), builder().receiveBuffers(4, 512));
        List<Call<Void>> calls = new ArrayList<>();
        for (RdmaEndpoint end : List.of(pair.client(), pair.server())) {
            calls.add(start("send", () -> {
                LocalRegion region = filled(end, 4000, 9);
                for (int i = 0; i < 100; i++) {
                    end.send(region);
                }
                return null;
            }));
            calls.add(start("receive", () -> {
                for (int i = 0; i < 100; i++) {
                    try (Message message = end.receive(PATIENCE)) {
                        assertArrayEquals(random(4000, 9), message.toArray());
                    }
                }
                return null;
            }));
        }
        for (Call<Void> call : calls) {
            call.result();
        }
    }

    /** rdma-io: a deep pipeline does not overflow the send queue. */
    @Test
    void fiveHundredAndTwelveInFlight() throws Exception {
        Pair pair = connect(builder().sendQueue(16), builder());
        List<Pending<Void>> sends = new ArrayList<>();
        for (int i = 0; i < 512; i++) {
            LocalRegion region = pair.client().allocate(8);
            region.segment().asByteBuffer().putInt(i);
            sends.add(pair.client().startSend(region));
        }
        for (int i = 0; i < 512; i++) {
            try (Message message = pair.server().receive(PATIENCE)) {
                assertEquals(i, ByteBuffer.wrap(message.toArray()).getInt());
            }
        }
        for (Pending<Void> send : sends) {
            send.await(PATIENCE);
            assertTrue(send.isDone());
        }
    }

    @Test
    void aReceivedMessageCanBeSentOnWithoutACopy() throws Exception {
        Pair pair = connect();
        pair.client().send(filled(pair.client(), 3000, 11));
        try (Message message = pair.server().receive(PATIENCE)) {
            pair.server().send(message.region());
        }
        assertArrayEquals(random(3000, 11), pair.client().receive(PATIENCE).toArray());
    }

    @Test
    void aMessageLongerThanThePeerTakesIsRefused() throws Exception {
        Pair pair = connect(builder(), builder().maxMessage(1000));
        refused(EndpointException.Reason.LIMIT, "at most 1000",
                () -> pair.client().send(pair.client().allocate(1001)));
        pair.client().send(pair.client().allocate(1000)); // and the connection lives
        assertEquals(1000, pair.server().receive(PATIENCE).length());
    }

    @Test
    void receiveGivesUpInTimeAndLosesNothing() throws Exception {
        Pair pair = connect();
        assertThrows(SocketTimeoutException.class, () -> pair.server().receive(Duration.ofMillis(50)));
        pair.client().send(filled(pair.client(), 10, 1));
        assertArrayEquals(random(10, 1), pair.server().receive(PATIENCE).toArray());
    }

    @Test
    void anInterruptEndsTheWaitAndNothingElse() throws Exception {
        Pair pair = connect();
        Call<Message> receive = start("receive", () -> pair.server().receive()).awaitBlocked();
        receive.interrupt();
        receive.failure(InterruptedIOException.class);
        assertTrue(receive.interruptedAtEnd());
        pair.client().send(filled(pair.client(), 10, 2));
        assertArrayEquals(random(10, 2), pair.server().receive(PATIENCE).toArray());
    }

    /** async-rdma, cancel safety: a call that has timed out keeps its memory locked until the completion. */
    @Test
    void aSendThatTimesOutKeepsItsMemoryLocked() throws Exception {
        Pair pair = connect(builder().operationTimeout(Duration.ofMillis(100)), builder().receiveBuffers(2, 512));
        LocalRegion region = filled(pair.client(), 2000, 5);
        assertThrows(SocketTimeoutException.class, () -> pair.client().send(region));
        assertFalse(region.isWritable());
        assertTrue(region.isReadable());
        LocalRegion other = open(pair.server(), 2000);
        RegionBusyException e = assertThrows(RegionBusyException.class,
                () -> pair.client().read(region, other.remote()));
        assertTrue(e.getMessage().contains("being read by a send"), e::getMessage);
        Pending<Void> again = pair.client().startSend(region); // reading is shared
        assertArrayEquals(random(2000, 5), pair.server().receive(PATIENCE).toArray());
        assertArrayEquals(random(2000, 5), pair.server().receive(PATIENCE).toArray());
        again.await(PATIENCE);
        assertTrue(region.isWritable());
    }

    /** rdma-io, transports: buffers given back out of order; what is still held is not overwritten. */
    @Test
    void messagesAreGivenBackInAnyOrder() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(4, 1024));
        List<Message> held = new ArrayList<>();
        int[] order = {2, 0, 3, 1};
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < order.length; i++) {
                pair.client().send(filled(pair.client(), 900, 4L * round + i));
                held.add(pair.server().receive(PATIENCE));
            }
            for (int i = 0; i < order.length; i++) {
                Message message = held.get(order[i]);
                assertArrayEquals(random(900, 4L * round + order[i]), message.toArray());
                message.close();
            }
            held.clear();
        }
    }

    /** rdma-io, both rings: what came before a flush was in one batch with it, and lost. */
    @Test
    void whatCameBeforeTheFlushIsReceived() throws Exception {
        Pair pair = connect();
        for (int i = 0; i < 5; i++) {
            pair.client().send(filled(pair.client(), 3000, i));
        }
        pair.client().requestRemote(8); // the answer comes after all of them have
        pair.client().link.connection().abort();
        LocalRegion region = pair.server().allocate(8);
        awaitBroken("the end of the peer", () -> pair.server().send(region));
        for (int i = 0; i < 5; i++) {
            try (Message message = pair.server().receive(PATIENCE)) {
                assertArrayEquals(random(3000, i), message.toArray());
            }
        }
        EndpointException e = assertThrows(EndpointException.class, () -> pair.server().receive(PATIENCE));
        assertTrue(e.reason() == EndpointException.Reason.PEER_GONE || e.reason() == EndpointException.Reason.DEVICE,
                e::getMessage);
    }
}
