package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.datagram.DatagramInbox;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.EventPoller;

/** Ports of datagrams that change hands, and senders of another process that wait for a receiver. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class DatagramPortsTest {
    private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final DatagramPorts.Sender OPEN = new DatagramPorts.Sender();

    private final DatagramPorts.Sender sender = new DatagramPorts.Sender();
    private final Taken receiver = new Taken();
    private DatagramPorts ports;
    /** Nothing comes from another process but in this one's {@code await}. */
    private EventPoller poller;
    /** Armed for good, as it has no channel. */
    private CompletionQueue queue;
    private InetSocketAddress address;

    /** Takes all; and what its application owes to senders. */
    private record Taken(List<byte[]> all, Queue<Runnable> owed) implements DatagramPorts.Receiver {
        Taken() {
            this(new ArrayList<>(), new ArrayDeque<>());
        }

        @Override
        public boolean awaitRoom(int bytes, DatagramPorts.Sender sender) {
            throw new AssertionError("it is not in this process");
        }

        @Override
        public boolean hasRoom(int bytes, Runnable taken) {
            return true;
        }

        @Override
        public void take(InetSocketAddress source, byte[] data, Runnable taken) {
            all.add(data);
            if (taken != null) {
                owed.add(taken);
            }
        }

        @Override
        public void lookAgain() {
            all.clear();
        }
    }

    @BeforeEach
    void open() throws Exception {
        SharedMemoryProvider provider = new SharedMemoryProvider(true);
        ports = provider.datagramPorts();
        poller = provider.createEventPoller();
        queue = provider.open(SharedMemoryDevice.NAME).createCompletionQueue(1, null);
        queue.requestNotification();
        try (DatagramSocket free = new DatagramSocket()) {
            address = new InetSocketAddress(InetAddress.getLoopbackAddress(), free.getLocalPort());
        }
    }

    @AfterEach
    void close() throws Exception {
        poller.close();
    }

    private static MemorySegment data(int value) {
        return MemorySegment.ofArray(new byte[] {(byte) value});
    }

    /** Nothing takes entries out of the ring while the port changes hands. */
    @Test
    void whatAPortsFormerUserWasSentDoesNotComeToTheNextOne() throws Exception {
        Taken first = new Taken();
        Taken second = new Taken();
        DatagramPorts.Port former = ports.open(address, first, queue);
        DatagramPorts.Route route = way();
        route.send(address, data(1), true);
        Await.until("the first datagram", () -> {
            poller.await(10, source -> { });
            return !first.all().isEmpty();
        });
        route.send(address, data(2), true);
        former.close();
        DatagramPorts.Port next = ports.open(address, second, queue);
        try {
            route.send(address, data(3), true);
            Await.until("a datagram for the next user", () -> {
                poller.await(10, source -> { });
                return !second.all().isEmpty();
            });
        } finally {
            next.close();
        }
        assertEquals(1, first.all().size());
        assertEquals(1, second.all().size(), "one was meant for the former user");
        assertArrayEquals(new byte[] {3}, second.all().getFirst());
    }

    private DatagramPorts.Route way() throws Exception {
        DatagramPorts.Route route = ports.route(address);
        Await.until("the way to the port", () -> {
            poller.await(10, source -> { });
            return route.isKnown();
        });
        return route;
    }

    /** Sends until the sender is to wait; gives how many. */
    private static int flood(DatagramPorts.Route route, InetSocketAddress from) {
        int sent = 0;
        for (; !route.isBehind(1); sent++) {
            route.send(from, data(0), true);
        }
        return sent;
    }

    private FutureTask<Boolean> startWait(DatagramPorts.Route route) throws Exception {
        return start(() -> route.awaitRoom(1, sender, LONG_NANOS));
    }

    private static FutureTask<Boolean> start(Callable<Boolean> waiting) throws Exception {
        FutureTask<Boolean> wait = new FutureTask<>(waiting);
        Thread thread = Thread.ofPlatform().start(wait);
        Await.until("the sender waits", () -> thread.getState() == Thread.State.TIMED_WAITING);
        return wait;
    }

    @Test
    void aSenderWaitsUntilAReceiverOfAnotherProcessHasTakenSome() throws Exception {
        try (DatagramPorts.Port _ = ports.open(address, receiver, queue)) {
            DatagramPorts.Route route = way();
            int sent = flood(route, address);
            for (int i = 0; i < 3; i++) {
                FutureTask<Boolean> wait = startWait(route);
                int all = sent;
                Await.until("all that was sent", () -> {
                    poller.await(10, source -> { });
                    return receiver.all().size() == all;
                });
                for (long lie : new long[] {Long.MIN_VALUE, -1, 0, Long.MAX_VALUE}) {
                    route.taken(lie);
                }
                assertTrue(route.isBehind(1));
                assertFalse(wait.isDone(), "nothing was taken yet");
                receiver.owed().remove().run();
                Await.until("the sender goes on", () -> {
                    poller.await(10, source -> { });
                    return wait.isDone();
                });
                int more = flood(route, address);
                assertTrue(more > 100, "one wake-up for " + more + " datagrams");
                sent += more;
            }
            assertEquals(0, ports.dropped());
        }
    }

    @Test
    void aSenderIsEndedByItsOwnClose() throws Exception {
        try (DatagramPorts.Port _ = ports.open(address, new Taken(), queue)) {
            DatagramPorts.Route route = way();
            flood(route, address);
            FutureTask<Boolean> wait = startWait(route);
            sender.close();
            assertTrue(wait.get());
            assertTrue(route.isBehind(1), "others wait as before");
        }
    }

    /** Nothing takes in what tells the outcome, until the poller is asked. */
    @Test
    void aSearchEndsForASenderThatClosesAndForOthersWithItsOutcome() throws Exception {
        try (DatagramPorts.Port _ = ports.open(address, receiver, queue)) {
            DatagramPorts.Route route = ports.route(address);
            FutureTask<Boolean> wait = start(() -> route.await(sender, LONG_NANOS));
            FutureTask<Boolean> other = start(() -> route.await(new DatagramPorts.Sender(), LONG_NANOS));
            sender.close();
            assertTrue(wait.get());
            assertFalse(route.isKnown() || other.isDone(), "nothing is known yet");
            way();
            assertTrue(other.get());
            assertNull(route.refusal());
        }
    }

    /** Nothing is owed for it, and it takes no other sender's room. */
    @Test
    void aSenderThatNeverWaitsIsToldNothing() throws Exception {
        try (DatagramPorts.Port _ = ports.open(address, receiver, queue)) {
            DatagramPorts.Route route = way();
            int many = 500;
            for (int i = 0; i < many; i++) {
                route.send(address, data(0), false);
            }
            Await.until("all that was sent", () -> {
                poller.await(10, source -> { });
                return receiver.all().size() == many;
            });
            assertTrue(receiver.owed().isEmpty());
            assertFalse(route.isBehind(1));
        }
    }

    @Test
    void aReceiverOfAnotherProcessThatDoesNotReadIsWaitedForOnce() throws Exception {
        try (DatagramPorts.Port _ = ports.open(address, receiver, queue)) {
            DatagramPorts.Route route = way();
            int window = flood(route, address);
            assertTrue(window * DatagramPorts.cost(1) >= 104 << 10, "a burst waits that SO_RCVBUF has room for");
            assertTrue(route.awaitRoom(1, sender, 1), "the datagram may be sent all the same");
            for (int i = 0; i < 2 * window; i++) {
                assertFalse(route.isBehind(1), "no other wait");
                route.send(address, data(0), true);
            }
            Await.until("datagrams", () -> {
                poller.await(10, source -> { });
                return receiver.all().size() + ports.dropped() == 3 * window;
            });
            receiver.owed().remove().run();
            Await.until("a wait, as the receiver reads again", () -> {
                poller.await(10, source -> { });
                for (int i = 0; i < window && !route.isBehind(1); i++) {
                    route.send(address, data(0), true);
                }
                return route.isBehind(1);
            });
        }
    }

    /** The burst comes while the receiver does not read, and fits its room; the flood while it reads. */
    @Test
    void neitherABurstNorAFloodLosesAnything() throws Exception {
        int room = 208 << 10;
        int burst = room / DatagramPorts.cost(1);
        int flood = 10_000;
        DatagramInbox inbox = new DatagramInbox(room);
        AtomicBoolean done = new AtomicBoolean();
        try (DatagramPorts.Port _ = ports.open(address, inbox, queue)) {
            DatagramPorts.Route route = way();
            FutureTask<Void> polling = new FutureTask<>(() -> {
                while (!done.get()) {
                    poller.await(10, source -> { });
                }
                return null;
            });
            Thread.ofPlatform().start(polling);
            send(route, address, burst, 1);
            receive(inbox, burst);
            Await.until("news of a receiver that reads", () -> route.isBehind(room));
            FutureTask<Void> reading = new FutureTask<>(() -> {
                receive(inbox, flood);
                return null;
            });
            Thread.ofPlatform().start(reading);
            send(route, address, flood, LONG_NANOS);
            reading.get();
            done.set(true);
            polling.get();
            assertEquals(0, ports.dropped());
        } finally {
            done.set(true);
        }
    }

    private static void send(DatagramPorts.Route route, InetSocketAddress from, int many, long nanos)
            throws InterruptedException {
        for (int i = 0; i < many; i++) {
            if (route.isBehind(1)) {
                route.awaitRoom(1, OPEN, nanos);
            }
            route.send(from, data(0), true);
        }
    }

    private static void receive(DatagramInbox inbox, int many) throws Exception {
        for (int i = 0; i < many; i++) {
            inbox.receive(Long.MAX_VALUE);
        }
    }

    @Test
    void aLinkThatEndsWakesSenders() throws Exception {
        try (DatagramPorts.Port _ = ports.open(address, receiver, queue)) {
            DatagramPorts.Route route = way();
            flood(route, address);
            FutureTask<Boolean> wait = startWait(route);
            route.end.link.fail("a test");
            Await.until("the sender goes on", () -> {
                poller.await(10, source -> { });
                return wait.isDone();
            });
            assertEquals(List.of(), receiver.all, "the receiver hears of it, too");
        }
    }
}
