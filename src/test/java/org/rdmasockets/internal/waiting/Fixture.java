package org.rdmasockets.internal.waiting;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.rdmasockets.verbs.VerbsException;

/** A poller over a simulated device, and ways to wait for what happens in it. */
final class Fixture implements AutoCloseable {
    static final long SECONDS_TO_WAIT = 20;
    private static final long LOOK_AGAIN_NANOS = 200_000;

    final SimulatedEvents events = new SimulatedEvents();
    final SimulatedDevice device;
    final CompletionPoller poller;

    Fixture(PollerSettings settings) {
        this(settings, 1_000, 32_767);
    }

    Fixture(PollerSettings settings, int maxQueues, int maxEntries) {
        device = new SimulatedDevice(events, false, maxQueues, maxEntries);
        poller = new CompletionPoller(events, settings);
    }

    /** A poller whose waiters park at once. */
    static Fixture parking() {
        return new Fixture(PollerSettings.defaults().withSpinBudgetNanos(0));
    }

    CompletionInbox open(CompletionClient client) throws VerbsException {
        return poller.openInbox(device, ConnectionRole.ACTIVE, client, 64);
    }

    static SimulatedQueue queueOf(CompletionInbox inbox) {
        return (SimulatedQueue) inbox.shard().queue();
    }

    static void receive(CompletionInbox inbox, int clientBits) {
        queueOf(inbox).complete(SimulatedCompletion.receive(inbox.workRequestIdBase() | clientBits, 0));
    }

    static void send(CompletionInbox inbox, int clientBits) {
        queueOf(inbox).complete(SimulatedCompletion.send(inbox.workRequestIdBase() | clientBits));
    }

    /** Looks until something is so; fails, naming it, if that takes too long. */
    static void eventually(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_TO_WAIT);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                fail("not within " + SECONDS_TO_WAIT + " s: " + what);
            }
            LockSupport.parkNanos(LOOK_AGAIN_NANOS);
        }
    }

    /** Waits for another thread; fails, naming what does not come. */
    static void await(String what, CountDownLatch latch) {
        try {
            if (!latch.await(SECONDS_TO_WAIT, TimeUnit.SECONDS)) {
                fail("not within " + SECONDS_TO_WAIT + " s: " + what);
            }
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted while waiting for " + what, e);
        }
    }

    /** A thread in a wait. */
    record Waiting(Thread thread, CompletableFuture<WaitResult> end, CompletableFuture<Boolean> interrupted) {
        WaitResult result() throws Exception {
            return end.get(SECONDS_TO_WAIT, TimeUnit.SECONDS);
        }

        boolean interruptStatus() throws Exception {
            return interrupted.get(SECONDS_TO_WAIT, TimeUnit.SECONDS);
        }
    }

    /** Starts a thread that waits, and returns when it is parked. */
    static Waiting startWaiting(boolean virtual, CompletionInbox inbox, Role role, long deadlineNanos) {
        CompletableFuture<WaitResult> end = new CompletableFuture<>();
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        Runnable body = () -> {
            WaitResult wait = inbox.await(role, deadlineNanos);
            interrupted.complete(Thread.currentThread().isInterrupted());
            end.complete(wait);
        };
        Thread thread = virtual ? Thread.ofVirtual().start(body) : Thread.ofPlatform().daemon().start(body);
        eventually("a thread waits as " + role, () -> isParked(thread) || end.isDone());
        return new Waiting(thread, end, interrupted);
    }

    static Waiting startWaiting(boolean virtual, CompletionInbox inbox, Role role) {
        return startWaiting(virtual, inbox, role, Long.MAX_VALUE);
    }

    private static boolean isParked(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    @Override
    public void close() {
        poller.close();
    }
}
