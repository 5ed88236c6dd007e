package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/** Writes that senders of this process leave to the poller all arrive, in order, whichever thread takes them in. */
@Timeout(60)
class WriteQueueTest {
    /** More than are left at once. */
    private static final int MANY = 1000;

    private final SharedMemoryDevice device = new SharedMemoryProvider(false).fabric.device;
    private SharedMemoryProtectionDomain domain;
    private SharedMemoryCompletionChannel channel;
    private SharedMemoryCompletionQueue sends;
    private SharedMemoryCompletionQueue receives;
    private MemoryRegion memory;
    private SharedMemoryQueuePair sender;
    private SharedMemoryQueuePair receiver;
    private WorkCompletions batch;

    @BeforeEach
    void connect() throws VerbsException {
        domain = new SharedMemoryProtectionDomain(device, null, false);
        channel = new SharedMemoryCompletionChannel(device);
        sends = new SharedMemoryCompletionQueue(device, 10 * MANY, null);
        receives = new SharedMemoryCompletionQueue(device, 10 * MANY, channel);
        memory = domain.allocate(4096, Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE));
        batch = receives.newBatch(16);
        sender = queuePair(sends);
        receiver = queuePair(receives);
        connect(sender, receiver);
    }

    private SharedMemoryQueuePair queuePair(CompletionQueue queue) throws VerbsException {
        QueuePairConfig config = new QueuePairConfig(queue, queue, MANY, MANY, 1, 1, 0, false);
        return SharedMemoryQueuePair.create(domain, config, null);
    }

    private void connect(SharedMemoryQueuePair one, SharedMemoryQueuePair other) {
        one.connect(new LocalPeer(other), 7);
        other.connect(new LocalPeer(one), 7);
    }

    private void post(SharedMemoryQueuePair queuePair, int count) {
        for (int i = 0; i < count; i++) {
            assertEquals(QueuePair.POSTED, queuePair.postReceive(new ReceiveRequest(1).receive(i).add(memory, 0, 8)));
        }
    }

    private void write(SharedMemoryQueuePair from, int immediate) {
        assertEquals(QueuePair.POSTED, from.postSend(new SendRequest(1)
                .write(0, memory.address(), memory.remoteKey()).immediate(immediate).add(memory, 64, 8)));
    }

    /** The immediate data of what comes until there is nothing more; of what failed, its negative status. */
    private List<Integer> taken() {
        List<Integer> all = new ArrayList<>();
        for (int polled = receives.poll(batch); polled > 0; polled = receives.poll(batch)) {
            for (int i = 0; i < polled; i++) {
                all.add(batch.status(i) == 0 ? batch.immediate(i) : -batch.status(i));
            }
        }
        return all;
    }

    private static List<Integer> numbers(int from, int to) {
        return IntStream.range(from, to).boxed().toList();
    }

    @Test
    void moreThanTheRingHoldsComesInOrder() {
        post(receiver, MANY);
        for (int i = 0; i < MANY; i++) {
            write(sender, i);
        }
        assertEquals(numbers(0, MANY), taken());
    }

    @Test
    void whatIsLeftIsNoticed() {
        assertFalse(receives.spin(3));
        post(receiver, 1);
        write(sender, 7);
        assertTrue(receives.spin(3));
        assertEquals(List.of(7), taken());
        assertFalse(receives.spin(3));
    }

    @Test
    void aSendComesBehindWritesThatWereLeft() {
        post(receiver, 4);
        write(sender, 0);
        write(sender, 1);
        assertEquals(QueuePair.POSTED, sender.postSend(new SendRequest(1).send(0).immediate(2).add(memory, 0, 8)));
        write(sender, 3);
        assertEquals(numbers(0, 4), taken());
    }

    @Test
    void writesThatFindNoReceiveComeOnceThereAreSome() {
        post(receiver, 3);
        for (int i = 0; i < 10; i++) {
            write(sender, i);
        }
        assertEquals(numbers(0, 3), taken());
        post(receiver, 4);
        assertEquals(numbers(3, 7), taken());
        post(receiver, 3);
        assertEquals(numbers(7, 10), taken());
    }

    @Test
    void aFailureDoesNotOvertakeWhatWasLeft() {
        post(receiver, 5);
        for (int i = 0; i < 3; i++) {
            write(sender, i);
        }
        receiver.fail();
        assertEquals(List.of(0, 1, 2, -Status.FLUSHED, -Status.FLUSHED), taken());
    }

    @Test
    void whatWasLeftToAClosedQueuePairReachesNobodyElse() throws VerbsException {
        SharedMemoryQueuePair otherSender = queuePair(sends);
        SharedMemoryQueuePair other = queuePair(receives);
        connect(otherSender, other);
        post(receiver, 5);
        post(other, 5);
        write(sender, 100);
        write(otherSender, 0);
        receiver.close();
        write(otherSender, 1);
        assertEquals(numbers(0, 2), taken());
        assertEquals(receives.entries() - MANY * 2, receives.unreservedEntries(), "the room of the closed one is free");
    }

    @Test
    void whatWasLeftBeforeTheQueueWasArmedMakesNoEvent() {
        post(receiver, 2);
        write(sender, 0);
        receives.requestNotification();
        assertEquals(0, channel.drainEvents(q -> { }), "it was there when the queue was armed");
        write(sender, 1);
        assertEquals(1, channel.drainEvents(q -> { }));
        assertEquals(numbers(0, 2), taken());
    }

    /** The numbers of entries outgrow an int after an hour of a busy process, and half a word after two. */
    @Test
    void entriesAreFoundHoweverManyThereWere() {
        for (long first : new long[] {(1L << 31) - 300, (1L << 32) - 300, (1L << 33) - 300}) {
            WriteQueue arrivals = new WriteQueue(first);
            post(receiver, 600);
            for (int i = 0; i < 600; i++) {
                arrivals.lock();
                long entry = arrivals.leave(receiver.receiveQueue, 8, i);
                arrivals.unlock();
                assertEquals(first + i, entry);
                assertFalse(arrivals.isEmpty());
                assertFalse(arrivals.isTaken(entry));
                if (i % 200 == 199) {
                    assertFalse(arrivals.takeIn(), "the queue is not armed");
                    assertTrue(arrivals.isEmpty());
                    assertTrue(arrivals.isTaken(entry));
                }
            }
            assertEquals(numbers(0, 600), taken());
        }
    }

    /** The second that waits finds no receive, and brings the first, which was left and is waited for by now. */
    @Test
    void whatIsBroughtForNothingIsReported() throws Exception {
        write(sender, 0);
        write(sender, 1);
        assertEquals(QueuePair.POSTED, receiver.receiveQueue.post(new ReceiveRequest(1).receive(0), 0, 1));
        Thread resuming = Thread.ofPlatform().unstarted(sender.sendQueue::resume);
        synchronized (receiver.receiveQueue) {
            resuming.start();
            while (resuming.getState() != Thread.State.BLOCKED) {
                assertTrue(resuming.isAlive());
                Thread.onSpinWait();
            }
            receives.arrivals.armed(true); // by who is about to take in what was left before
        }
        resuming.join();
        assertEquals(1, channel.drainEvents(q -> { }));
        assertEquals(List.of(0), taken());
    }

    /** The queue pair fails after the sender has found it well, and before that leaves anything. */
    @Test
    void whatComesTooLateFailsAtBothEndsOrAtNone() throws Exception {
        post(receiver, 2);
        AtomicInteger status = new AtomicInteger(-1);
        Thread writing = Thread.ofPlatform().unstarted(() -> {
            write(sender, 5);
            WorkCompletions done = sends.newBatch(1);
            status.set(sends.poll(done) == 1 ? done.status(0) : 0);
        });
        Thread failing = Thread.ofPlatform().unstarted(receiver::fail);
        receives.arrivals.lock();
        try {
            writing.start();
            while (writing.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            failing.start();
            while (receiver.isReady()) {
                Thread.onSpinWait();
            }
        } finally {
            receives.arrivals.unlock();
        }
        writing.join();
        failing.join();
        assertEquals(status.get() == 0 ? List.of(5, -Status.FLUSHED) : List.of(-Status.FLUSHED, -Status.FLUSHED),
                taken());
    }

    @Test
    void anArmedQueueMakesAnEvent() {
        post(receiver, 1);
        receives.requestNotification();
        write(sender, 0);
        assertEquals(1, channel.drainEvents(q -> { }));
        assertEquals(numbers(0, 1), taken());
    }

    /** The sender has found the queue unarmed, and then waits for the others before it leaves its entry. */
    @Test
    void whoLeavesAnEntryLooksOnceMoreWhetherTheQueueIsArmed() throws Exception {
        post(receiver, 1);
        Thread writing;
        receives.arrivals.lock();
        try {
            writing = Thread.ofPlatform().start(() -> assertEquals(QueuePair.POSTED,
                    sender.postSend(new SendRequest(1).write(0, 0, 0).immediate(5))));
            while (writing.getState() != Thread.State.WAITING) {
                assertTrue(writing.isAlive());
                Thread.onSpinWait();
            }
            receives.requestNotification();
            assertEquals(List.of(), taken());
        } finally {
            receives.arrivals.unlock();
        }
        writing.join();
        assertEquals(1, channel.drainEvents(q -> { }), "nobody polls any more");
        assertEquals(List.of(5), taken());
    }

    /** A thread that arms, polls once more and then sleeps until there is an event never sleeps for ever. */
    @Test
    void noEventIsMissedByWhoArmsWhileOthersWrite() throws Exception {
        int total = 200_000;
        AtomicInteger credits = new AtomicInteger(MANY);
        post(receiver, MANY);
        CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> {
            for (int i = 0; i < total; i++) {
                while (credits.get() == 0) {
                    Thread.onSpinWait();
                }
                credits.decrementAndGet();
                write(sender, i);
            }
        });
        int next = 0;
        while (next < total) {
            receives.requestNotification();
            List<Integer> some = taken();
            if (some.isEmpty()) {
                long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
                while (channel.drainEvents(q -> { }) == 0) {
                    assertTrue(System.nanoTime() - deadline < 0, "no event for what came after " + next);
                    Thread.onSpinWait();
                }
                some = taken();
            }
            for (int immediate : some) {
                assertEquals(next++, immediate);
            }
            post(receiver, some.size());
            credits.addAndGet(some.size());
        }
        writing.get(30, TimeUnit.SECONDS);
    }
}
