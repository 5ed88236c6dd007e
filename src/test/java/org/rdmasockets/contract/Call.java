package org.rdmasockets.contract;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Assertions;
import org.rdmasockets.far.Blocked;

/**
 * A call that runs in a thread of its own, because it may block.
 *
 * @param <T> type of its result
 */
public final class Call<T> {
    /** Looks in a row that must find the thread blocked: a wait for a lock or a completion is over sooner. */
    private static final int BLOCKED_LOOKS = 40;

    private final String what;
    private final Thread thread;
    private final CompletableFuture<T> outcome = new CompletableFuture<>();
    private volatile boolean interruptedAtEnd;
    /** Looks in a row that found the thread blocked; test thread only. */
    private int blockedLooks;

    private Call(ThreadKind kind, String what, Callable<T> body) {
        this.what = what;
        this.thread = kind.start(what, () -> {
            try {
                T result = body.call();
                interruptedAtEnd = Thread.interrupted();
                outcome.complete(result);
            } catch (Throwable e) {
                interruptedAtEnd = Thread.interrupted();
                outcome.completeExceptionally(e);
            }
        });
    }

    /** A call without a result. */
    @FunctionalInterface
    public interface Action {
        /**
         * Runs.
         *
         * @throws Exception if the action fails
         */
        void run() throws Exception;
    }

    /**
     * Starts a call.
     *
     * @param <T> type of its result
     * @param kind of thread
     * @param what it does, for messages
     * @param body the code to run
     * @return the call
     */
    public static <T> Call<T> start(ThreadKind kind, String what, Callable<T> body) {
        return new Call<>(kind, what, body);
    }

    /**
     * Starts a call without a result.
     *
     * @param kind of thread
     * @param what it does, for messages
     * @param body the code to run
     * @return the call
     */
    public static Call<Void> run(ThreadKind kind, String what, Action body) {
        return start(kind, what, () -> {
            body.run();
            return null;
        });
    }

    /**
     * Waits until the thread is blocked and stays so.
     *
     * @return this
     */
    public Call<T> awaitBlocked() throws Exception {
        blockedLooks = 0;
        Await.until("'" + what + "' blocks", () -> {
            if (outcome.isDone()) {
                throw new AssertionError("'" + what + "' ended instead of blocking: " + describeOutcome());
            }
            blockedLooks = Blocked.looks(thread) ? blockedLooks + 1 : 0;
            return blockedLooks >= BLOCKED_LOOKS;
        });
        return this;
    }

    private String describeOutcome() {
        return outcome.isCompletedExceptionally() ? outcome.exceptionNow().toString()
                : String.valueOf(outcome.resultNow());
    }

    /**
     * Waits for the result.
     *
     * @return the result
     * @throws Exception thrown by the call
     */
    public T result() throws Exception {
        return result(Await.LIMIT_SECONDS);
    }

    /**
     * Waits for the result of something that takes its time.
     *
     * @param seconds longest wait
     * @return the result
     * @throws Exception thrown by the call
     */
    public T result(long seconds) throws Exception {
        try {
            return outcome.get(seconds, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case Exception cause -> throw cause;
                case Error cause -> throw cause;
                default -> throw e;
            }
        } catch (TimeoutException e) {
            AssertionError stuck = new AssertionError("'" + what + "' did not end; state " + thread.getState(), e);
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }

    /**
     * Waits for the call to fail.
     *
     * @param <E> type of the failure
     * @param type of the failure
     * @return the failure
     */
    public <E extends Throwable> E failure(Class<E> type) {
        return Assertions.assertThrows(type, this::result, what);
    }

    /**
     * Tells whether the call has ended.
     *
     * @return true if it has
     */
    public boolean isDone() {
        return outcome.isDone();
    }

    /** Interrupts the thread. */
    public void interrupt() {
        thread.interrupt();
    }

    /**
     * Tells whether the interrupt status was set when the call ended.
     *
     * @return true if it was
     */
    public boolean interruptedAtEnd() {
        return interruptedAtEnd;
    }
}
