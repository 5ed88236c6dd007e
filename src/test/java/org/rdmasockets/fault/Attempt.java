package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.rdmasockets.interop.TestBed;

/**
 * A blocking call in a virtual thread of its own, and how it ended. Every wait is bounded.
 */
final class Attempt {
    /** The call that is attempted; it returns the result of a read, or 0. */
    @FunctionalInterface
    interface Call {
        int run() throws IOException;
    }

    /** How it ended: one of value and failure, and when. */
    record Outcome(int value, IOException failure, long nanoTime) {
        /** Milliseconds from a moment to the end. */
        long millisSince(long start) {
            return TimeUnit.NANOSECONDS.toMillis(nanoTime - start);
        }

        /** The failure, which must be of a type. */
        <T extends IOException> T failure(Class<T> type) {
            return assertInstanceOf(type, failure, this::toString);
        }
    }

    private final String name;
    private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    private final Thread thread;

    private Attempt(String name, Call call) {
        this.name = name;
        thread = Thread.ofVirtual().name(name).start(() -> run(call));
    }

    static Attempt start(String name, Call call) {
        return new Attempt(name, call);
    }

    private void run(Call call) {
        try {
            int value = call.run();
            outcome.complete(new Outcome(value, null, System.nanoTime()));
        } catch (IOException e) {
            outcome.complete(new Outcome(0, e, System.nanoTime()));
        } catch (RuntimeException | Error e) {
            outcome.completeExceptionally(e);
        }
    }

    /** Waits until the thread is parked in its call. */
    void awaitParked() throws InterruptedException {
        long deadline = System.nanoTime() + TestBed.PATIENCE_MILLIS * 1_000_000L;
        while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
            assertTrue(thread.isAlive(), () -> name + " did not wait: " + outcome);
            assertTrue(System.nanoTime() < deadline, () -> name + " never parks");
            Thread.sleep(1);
        }
    }

    /** Waits for the end. */
    Outcome await(long millis) throws InterruptedException {
        try {
            return outcome.get(millis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError(name + " still waits after " + millis + " ms", e);
        } catch (ExecutionException e) {
            throw new AssertionError(name + " failed", e.getCause());
        }
    }

    boolean isOver() {
        return outcome.isDone();
    }

    @Override
    public String toString() {
        return name + ": " + outcome;
    }
}
