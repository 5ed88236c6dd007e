package org.rdmasockets.verbs;

import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Waits for events of many sources at once ({@code epoll(7)} over their descriptors and an {@code eventfd}). One
 * platform thread waits, and one more may wait beside it for a moment; any thread adds, removes and wakes.
 */
public interface EventPoller extends AutoCloseable {
    /**
     * Adds a source; a wait in progress takes it up at once. Its descriptor stays open until it is removed, or until
     * the next wait finds it closed.
     *
     * @param source a source of the same provider
     * @throws IllegalArgumentException if the source is another provider's
     */
    void add(EventSource source);

    /**
     * Removes a source. It may still be reported once by a wait in progress.
     *
     * @param source a source added before; another is ignored
     */
    void remove(EventSource source);

    /**
     * Waits until a source is ready, {@link #wakeup} is called or the time is over. <em>May block</em>: platform
     * threads only, and one at a time.
     *
     * @param timeoutMillis longest wait in milliseconds, 0 to look only, negative for no limit
     * @param ready called in this thread for each ready source
     * @return how many sources were ready
     * @throws VerbsException if waiting failed, or the poller is closed
     */
    int await(int timeoutMillis, Consumer<? super EventSource> ready) throws VerbsException;

    /**
     * Waits beside the thread that is in {@link #await}. An event of a completion channel that comes from outside of
     * this process wakes one of the two only, as a rule, and this one if it waits: it hears of a completion by one
     * change of threads. <em>Blocks</em>, in the system call: a virtual thread keeps its carrier meanwhile. One thread
     * at a time.
     *
     * @param timeoutMillis longest wait in milliseconds, at least 1
     * @param ready called in this thread for a ready source: true if it has drained that. Any other source is left to
     *         the thread in {@link #await}, which is woken for it
     * @return true if this thread has drained what there was; false if it was woken for something else, or the time
     *         was over
     * @throws VerbsException if waiting failed, or the poller is closed
     */
    boolean awaitBeside(int timeoutMillis, Predicate<? super EventSource> ready) throws VerbsException;

    /** Ends a wait in progress in {@link #await}, or the next one, early. Never blocks; harmless on a closed poller. */
    void wakeup();

    /** Likewise in {@link #awaitBeside}. */
    void wakeupBeside();

    /** Ends the waiting thread's wait, and does not wait for it: the last to leave frees the descriptors. */
    @Override
    void close();
}
