package org.rdmasockets.verbs;

import java.util.function.Consumer;

/** A completion channel ({@code struct ibv_comp_channel}): where armed completion queues report. */
public interface CompletionChannel extends EventSource, AutoCloseable {
    /**
     * The device.
     *
     * @return the parent
     */
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

    /** Destroys the channel ({@code ibv_destroy_comp_channel}) as soon as its last completion queue is closed. */
    @Override
    void close();
}
