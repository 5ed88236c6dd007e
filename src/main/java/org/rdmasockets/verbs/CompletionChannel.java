package org.rdmasockets.verbs;

import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A completion channel ({@code struct ibv_comp_channel}): where armed completion queues report.
 *
 * @since 0.1
 */
public interface CompletionChannel extends EventSource, AutoCloseable {
    /** {@return the device} */
    Device device();

    /**
     * Takes and acknowledges all events that are there ({@code ibv_get_cq_event}, {@code ibv_ack_cq_events}) without
     * waiting. Every queue named by an event is disarmed and has to be armed again.
     *
     * @param handler called in this thread for each event with the queue that had one
     * @return how many events were taken; 0 when this is closed
     * @throws VerbsException if reading failed
     */
    int drainEvents(Consumer<? super CompletionQueue> handler) throws VerbsException;

    /**
     * Offers to take the events that a post makes in the thread that posts, so that no other thread has to be woken for
     * them. A device that executes requests in the thread that posts them calls the handler at the end of the post,
     * with no lock of its own held; other devices, and what happens otherwise, make events for {@link #drainEvents}.
     *
     * @param handler called with a queue that had an event, which disarmed it; must neither block nor throw; false
     *        leaves the event to {@link #drainEvents}
     */
    default void onPost(Predicate<? super CompletionQueue> handler) {
        // A network adapter completes in no thread of the program.
    }

    /** Destroys the channel ({@code ibv_destroy_comp_channel}) as soon as its last completion queue is closed. */
    @Override
    void close();
}
