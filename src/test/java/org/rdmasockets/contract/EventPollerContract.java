package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** Waiting for many sources at once. */
abstract class EventPollerContract extends VerbsContract {
    private static final int FOR_EVER = -1;
    private static final long LIMIT_SECONDS = 30;

    private EventPoller poller() throws VerbsException {
        return closing(provider().createEventPoller());
    }

    private static FutureTask<Integer> awaitInThread(EventPoller poller, List<EventSource> ready) {
        FutureTask<Integer> task = new FutureTask<>(() -> poller.await(FOR_EVER, ready::add));
        Thread.ofPlatform().daemon().start(task);
        return task;
    }

    /** Runs a wait that is in the system call when this returns. */
    private static FutureTask<Integer> sleepInThread(EventPoller poller, List<EventSource> ready) throws Exception {
        FutureTask<Integer> task = new FutureTask<>(() -> poller.await(FOR_EVER, ready::add));
        Thread thread = Thread.ofPlatform().daemon().start(task);
        Await.until("the poller to sleep", () -> Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().endsWith(".EpollWait")));
        return task;
    }

    private static int result(FutureTask<Integer> task) throws Exception {
        return task.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    private static void noSource(EventSource source) {
        throw new AssertionError("nothing can be ready, but " + source);
    }

    /** A channel that has an event: a receive was flushed into an armed queue. */
    private CompletionChannel readyChannel() throws VerbsException {
        CompletionChannel channel = closing(device().createCompletionChannel());
        CompletionQueue queue = closing(device().createCompletionQueue(4 * (End.SENDS + End.RECEIVES), channel));
        Pair pair = connect(queue);
        queue.requestNotification();
        pair.passive.postReceive(1, 0, 10);
        pair.passive.queuePair.fail();
        return channel;
    }

    @Test
    void looksWithoutWaiting() throws VerbsException {
        EventPoller poller = poller();
        poller.add(closing(device().createCompletionChannel()));
        assertEquals(0, poller.await(0, EventPollerContract::noSource));
    }

    @Test
    void waitsUntilTheTimeIsOver() throws VerbsException {
        EventPoller poller = poller();
        long start = System.nanoTime();
        assertEquals(0, poller.await(20, EventPollerContract::noSource));
        assertTrue(System.nanoTime() - start >= 15_000_000, "it came back early");
    }

    @Test
    void aWakeupEndsTheWait() throws Exception {
        EventPoller poller = poller();
        FutureTask<Integer> waiting = awaitInThread(poller, new ArrayList<>());
        poller.wakeup();
        assertEquals(0, result(waiting));
    }

    @Test
    void aWakeupBeforehandEndsTheNextWaitOnly() throws VerbsException {
        EventPoller poller = poller();
        poller.wakeup();
        poller.wakeup();
        assertEquals(0, poller.await(FOR_EVER, EventPollerContract::noSource));
        long start = System.nanoTime();
        assertEquals(0, poller.await(20, EventPollerContract::noSource));
        assertTrue(System.nanoTime() - start >= 15_000_000, "two wake-ups before one wait are one");
    }

    @Test
    void noWakeupIsLost() throws Exception {
        EventPoller poller = poller();
        for (int round = 0; round < 200; round++) {
            FutureTask<Integer> waiting = awaitInThread(poller, new ArrayList<>());
            poller.wakeup();
            assertEquals(0, result(waiting));
        }
    }

    @Test
    void aSourceIsReportedUntilItIsDrained() throws VerbsException {
        EventPoller poller = poller();
        CompletionChannel channel = readyChannel();
        poller.add(channel);
        List<EventSource> ready = new ArrayList<>();
        while (ready.isEmpty()) {
            poller.await(FOR_EVER, ready::add);
        }
        assertSame(channel, ready.getFirst());
        assertEquals(1, poller.await(FOR_EVER, ready::add), "not drained yet");
        channel.drainEvents(queue -> {
        });
        assertEquals(0, poller.await(0, EventPollerContract::noSource));
    }

    @Test
    void aSourceAddedDuringAWaitIsTakenUp() throws Exception {
        EventPoller poller = poller();
        CompletionChannel channel = readyChannel();
        List<EventSource> ready = new ArrayList<>();
        FutureTask<Integer> waiting = awaitInThread(poller, ready);
        poller.add(channel);
        if (result(waiting) == 0) {
            assertEquals(1, result(awaitInThread(poller, ready)));
        }
        assertEquals(List.of(channel), ready);
    }

    @Test
    void aRemovedSourceIsNotReported() throws VerbsException {
        EventPoller poller = poller();
        CompletionChannel channel = readyChannel();
        poller.add(channel);
        poller.remove(channel);
        poller.remove(channel);
        poller.await(0, EventPollerContract::noSource);
        assertEquals(0, poller.await(0, EventPollerContract::noSource));
    }

    @Test
    void aClosedSourceIsDropped() throws VerbsException {
        EventPoller poller = poller();
        CompletionChannel channel = readyChannel();
        poller.add(channel);
        poller.add(device());
        channel.close();
        poller.await(0, EventPollerContract::noSource);
        assertEquals(0, poller.await(0, EventPollerContract::noSource));
        poller.remove(channel);
    }

    @Test
    void aSendThatIsNeverReceivedEndsTheWait() throws Exception {
        needs(Capability.RECEIVER_NOT_READY_RETRY);
        CompletionChannel channel = closing(device().createCompletionChannel());
        CompletionQueue queue = closing(device().createCompletionQueue(2 * (End.SENDS + End.RECEIVES), channel));
        ConnectionEvents requests = new ConnectionEvents();
        ConnectionIdentifier listener = closing(Pair.listen(loop(), fixture().address(), requests));
        ConnectionEvents events = new ConnectionEvents();
        End active = closing(new End(closing(Pair.resolve(loop(), listener.localAddress(), events)), events, queue));
        active.identifier.connect(Pair.PARAMETERS);
        ConnectionIdentifier request = closing(requests.await(ConnectionEvent.ConnectRequest.class).identifier());
        End passive = closing(new End(request, new ConnectionEvents()));
        request.accept(new ConnectionParameters(new byte[0], 1, 1, 6, 2));
        events.await(ConnectionEvent.Established.class);
        // Not before: a device takes the timer when the queue pair can receive.
        passive.queuePair.modify(new QueuePairAttributes().receiverNotReadyTimer(Duration.ofMillis(10)));
        EventPoller poller = poller();
        poller.add(channel);
        queue.requestNotification();
        List<EventSource> ready = new ArrayList<>();
        FutureTask<Integer> waiting = sleepInThread(poller, ready);
        active.send.send(1).add(active.region, 0, 10).signalled();
        active.postSend();
        while (result(waiting) == 0) { // a wait may end early
            waiting = awaitInThread(poller, ready);
        }
        assertEquals(List.of(channel), ready);
        assertEquals(WorkCompletionStatus.RECEIVER_NOT_READY_RETRY_EXCEEDED, active.await().status());
    }

    @Test
    void closingEndsTheWait() throws Exception {
        EventPoller poller = poller();
        FutureTask<Integer> waiting = awaitInThread(poller, new ArrayList<>());
        poller.close();
        try {
            assertEquals(0, result(waiting));
        } catch (ExecutionException e) {
            // The thread came after the close.
            assertEquals(Errno.ESHUTDOWN, ((VerbsException) e.getCause()).errno());
        }
        refusedAsClosed(() -> poller.await(0, EventPollerContract::noSource));
        poller.wakeup();
        poller.close();
        poller.add(device());
        poller.remove(device());
    }

    @Test
    void theWaitingThreadMayCloseThePoller() throws VerbsException {
        EventPoller poller = poller();
        poller.add(readyChannel());
        poller.wakeup();
        while (poller.await(FOR_EVER, source -> poller.close()) == 0) {
            Thread.onSpinWait();
        }
        refusedAsClosed(() -> poller.await(0, EventPollerContract::noSource));
    }

    @Test
    void aSourceOfAnotherProviderIsRefused() throws VerbsException {
        EventPoller poller = poller();
        assertThrows(IllegalArgumentException.class, () -> poller.add(new EventSource() {
        }));
    }
}
