package org.rdmasockets.verbs;

import java.util.function.Consumer;

/**
 * Waits for events of many sources at once ({@code epoll(7)} over their descriptors and an {@code eventfd}). One
 * platform thread waits; any thread adds, removes and wakes.
 *
 * @since 0.1
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

    /** Ends a wait in progress, or the next one, early. Never blocks; harmless on a closed poller. */
    void wakeup();

    /** Ends the waiting thread's wait, and does not wait for it: the last to leave frees the descriptors. */
    @Override
    void close();
}
