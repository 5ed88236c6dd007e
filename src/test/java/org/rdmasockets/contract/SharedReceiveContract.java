package org.rdmasockets.contract;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.far.Holder;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent.Disconnected;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SharedReceiveQueue;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/** Several queue pairs of this JVM take their receives from one queue; who sends may be in another one. */
abstract class SharedReceiveContract extends VerbsContract {
    private static final int RECEIVES = 8;
    private static final int ENTRIES = 64;
    private static final int PIECE = 64;
    private static final long LIMIT_NANOS = 30_000_000_000L;

    private ProtectionDomain domain;
    private CompletionQueue queue;
    private SharedReceiveQueue receives;
    private MemoryRegion region;
    private Holder<Acceptor> acceptor;

    /** A connection whose near end shares its receives; the far end sends. */
    private record Connection(End near, Holder<End> far) {
        void send(int value) {
            far.tell(end -> {
                end.memory.set(JAVA_INT, 0, value);
                end.send.send(1).add(end.region, 0, 4).signalled();
                end.postSend();
            });
        }

        void awaitSent() throws VerbsException {
            far.ask(end -> end.awaitSuccess(1));
        }
    }

    @BeforeEach
    void makeQueue() throws VerbsException {
        domain = closing(device().allocateProtectionDomain());
        if (device().supports(Capability.SHARED_RECEIVE_QUEUES)) {
            queue = closing(device().createCompletionQueue(ENTRIES, null));
            receives = closing(domain.createSharedReceiveQueue(RECEIVES, 2));
            region = closing(domain.allocate(RECEIVES * PIECE, Set.of(AccessFlag.LOCAL_WRITE)));
            acceptor = acceptor();
        }
    }

    private Connection connectShared() throws VerbsException {
        ConnectionEvents events = new ConnectionEvents();
        End near = closing(new End(Pair.resolve(loop(), acceptor.ask(a -> a.address()), events), events, queue,
                receives));
        near.identifier.connect(Pair.PARAMETERS);
        Holder<End> far = acceptor.make(a -> a.accept());
        closing(() -> far.tell(end -> end.close()));
        events.await(Established.class);
        return new Connection(near, far);
    }

    private void post(int piece) {
        ReceiveRequest request = new ReceiveRequest(2).receive(100 + piece).add(region, piece * PIECE, PIECE);
        assertEquals(QueuePair.POSTED, receives.postReceive(request), "post of receive " + piece);
    }

    /** Waits for one completion in the common queue. */
    private End.Done await() throws VerbsException {
        WorkCompletions one = queue.newBatch(1);
        long deadline = System.nanoTime() + LIMIT_NANOS;
        while (queue.poll(one) == 0) {
            assertTrue(System.nanoTime() - deadline < 0, "no completion within the limit");
            Thread.onSpinWait();
        }
        return End.copy(one, 0);
    }

    /** Sends a message, for which a receive is posted, and waits until it has arrived. */
    private void deliver(Connection connection, int value) throws VerbsException {
        connection.send(value);
        assertEquals(value, valueOf(await()));
        connection.awaitSent();
    }

    private int valueOf(End.Done done) {
        assertEquals(WorkCompletionStatus.SUCCESS, done.status(), done::toString);
        assertEquals(CompletionOpcode.RECEIVE, done.opcode());
        return region.segment().get(JAVA_INT, (done.id() - 100) * PIECE);
    }

    @Test
    void messagesOfAllQueuePairsTakeReceivesOfOneQueue() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        List<Connection> connections = List.of(connectShared(), connectShared(), connectShared());
        Map<Integer, Integer> expected = new HashMap<>();
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 6; i++) {
                post(i);
            }
            for (int i = 0; i < 6; i++) {
                int value = 1000 * round + i;
                Connection connection = connections.get(i % connections.size());
                connection.send(value);
                expected.put(value, connection.near.queuePair.number());
            }
            Set<Long> ids = new HashSet<>();
            for (int i = 0; i < 6; i++) {
                End.Done done = await();
                assertEquals(expected.remove(valueOf(done)), done.queuePairNumber(), done::toString);
                assertEquals(4, done.lengthBytes());
                assertTrue(ids.add(done.id()), () -> "completed twice: " + done);
                connections.get(i % connections.size()).awaitSent();
            }
        }
    }

    @Test
    void messagesWaitForReceives() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        needs(Capability.RECEIVER_NOT_READY_RETRY);
        List<Connection> connections = List.of(connectShared(), connectShared());
        for (Connection connection : connections) {
            connection.near.queuePair.modify(new QueuePairAttributes().receiverNotReadyTimer(Duration.ofNanos(10_000)));
            for (int i = 0; i < 10; i++) {
                connection.send(i);
            }
        }
        List<Integer> values = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            post(i % 2);
            values.add(valueOf(await()));
        }
        values.sort(null);
        for (int i = 0; i < 20; i++) {
            assertTrue(values.get(i) <= 9, values::toString);
        }
        for (Connection connection : connections) {
            for (int i = 0; i < 10; i++) {
                connection.awaitSent();
            }
        }
    }

    @Test
    void theQueuePairItselfTakesNoReceives() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        QueuePair pair = connectShared().near.queuePair;
        ReceiveRequest request = new ReceiveRequest(1).receive(1).add(region, 0, 8);
        assertEquals(Errno.EINVAL.number(), pair.postReceive(request));
        assertEquals(Errno.EINVAL.number(), pair.postReceives(request, 1, 2));
    }

    @Test
    void aQueuePairThatFailsLeavesTheReceivesToOthers() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        Connection failing = connectShared();
        Connection other = connectShared();
        for (int i = 0; i < 3; i++) {
            post(i);
        }
        deliver(failing, 7);
        failing.near.queuePair.fail();
        failing.near.close();
        for (int i = 0; i < 2; i++) {
            deliver(other, 8 + i);
        }
    }

    @Test
    void aPeerThatLeavesWhileItWaitsTakesNoReceiveAlong() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        needs(Capability.RECEIVER_NOT_READY_RETRY);
        Connection leaving = connectShared();
        Connection other = connectShared();
        leaving.send(1);
        for (int i = 0; i < 10; i++) {
            assertEquals(0, queue.poll(queue.newBatch(1)), "nothing can have arrived");
        }
        leaving.far.tell(end -> end.close());
        leaving.near.events.await(Disconnected.class);
        post(0);
        deliver(other, 5);
    }

    @Test
    void theLimitIsReportedWhenReceivesRunOut() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        Connection connection = connectShared();
        for (int i = 0; i < 3; i++) {
            post(i);
        }
        limitIs(0);
        receives.limit(2);
        limitIs(2);
        assertFalse(receives.isLimitReached());
        deliver(connection, 1);
        deliver(connection, 2);
        long deadline = System.nanoTime() + LIMIT_NANOS;
        while (!receives.isLimitReached()) {
            assertTrue(System.nanoTime() - deadline < 0, "no event of the limit within the time");
            device().drainEvents(this::checkEvent);
            Thread.onSpinWait();
        }
        receives.limit(0);
        assertFalse(receives.isLimitReached(), "a new limit, or none, begins anew");
        limitIs(0);
    }

    /** Asserts the limit that the device tells; a device that cannot tell it refuses. */
    private void limitIs(int expected) throws VerbsException {
        if (device().supports(Capability.QUERY_STATE)) {
            assertEquals(expected, receives.queryLimit());
        } else {
            refused(Errno.EOPNOTSUPP, "QUERY_STATE", () -> receives.queryLimit());
        }
    }

    /** Events of other tests may come as well. */
    private void checkEvent(DeviceEvent event) {
        if (event.type() == DeviceEvent.Type.SHARED_RECEIVE_QUEUE_LIMIT) {
            assertSame(receives, event.sharedReceiveQueue());
        }
    }

    @Test
    void aLimitBeyondTheReceivesIsRefused() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        refused(Errno.EINVAL, "limit=" + (RECEIVES + 1), () -> receives.limit(RECEIVES + 1));
        refused(Errno.EINVAL, "limit=-1", () -> receives.limit(-1));
    }

    @Test
    void tooManyElementsAndReceivesAreRefused() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        ReceiveRequest tooLong = new ReceiveRequest(3).receive(1).add(region, 0, 1).add(region, 1, 1);
        assertEquals(QueuePair.POSTED, receives.postReceive(tooLong));
        assertEquals(Errno.EINVAL.number(), receives.postReceive(tooLong.add(region, 2, 1)));
        ReceiveRequest fits = new ReceiveRequest(1).receive(2).add(region, 0, 1);
        int posted = 1;
        int result = QueuePair.POSTED;
        while (result == QueuePair.POSTED && posted < 10 * RECEIVES) {
            result = receives.postReceive(fits);
            posted++;
        }
        assertEquals(Errno.ENOMEM.number(), result, "posts in the end");
        assertTrue(posted > RECEIVES, "all receives that were asked for fit");
    }

    @Test
    void roomInACompletionQueueIsTakenOnce() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        int entries = queue.unreservedEntries();
        Connection one = connectShared();
        assertEquals(entries - End.SENDS - RECEIVES, queue.unreservedEntries());
        Connection two = connectShared();
        assertEquals(entries - 2 * End.SENDS - RECEIVES, queue.unreservedEntries());
        one.near.close();
        two.near.close();
        WorkCompletions batch = queue.newBatch(ENTRIES);
        assertEquals(0, queue.poll(batch), "completions of nothing");
        assertEquals(entries, queue.unreservedEntries());
    }

    @Test
    void aClosedQueueStillServesItsQueuePairs() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        Connection connection = connectShared();
        post(0);
        receives.close();
        receives.close();
        ReceiveRequest request = new ReceiveRequest(1).receive(1).add(region, 0, 8);
        assertEquals(Errno.ESHUTDOWN.number(), receives.postReceive(request));
        refusedAsClosed(() -> receives.limit(1));
        refusedAsClosed(() -> receives.queryLimit());
        deliver(connection, 5);
    }

    @Test
    void noQueuePairSharesReceivesWithoutAQueue() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        ConnectionIdentifier identifier =
                closing(Pair.resolve(loop(), acceptor.ask(a -> a.address()), new ConnectionEvents()));
        assertThrows(IllegalArgumentException.class,
                () -> identifier.createQueuePair(domain, End.config(queue), null));
    }

    @Test
    void nothingCannotBeShared() throws VerbsException {
        needs(Capability.SHARED_RECEIVE_QUEUES);
        assertThrows(IllegalArgumentException.class, () -> domain.createSharedReceiveQueue(0, 1));
        assertThrows(IllegalArgumentException.class, () -> domain.createSharedReceiveQueue(1, 0));
        refused(Errno.EINVAL, "maxElements=1000000", () -> domain.createSharedReceiveQueue(1, 1_000_000));
        domain.close();
        refusedAsClosed(() -> domain.createSharedReceiveQueue(1, 1));
    }

    @Test
    void aDeviceWithoutThemSaysSo() throws VerbsException {
        assumeFalse(device().supports(Capability.SHARED_RECEIVE_QUEUES), device() + " has them");
        refused(Errno.EOPNOTSUPP, "SHARED_RECEIVE_QUEUES", () -> domain.createSharedReceiveQueue(1, 1));
    }
}
