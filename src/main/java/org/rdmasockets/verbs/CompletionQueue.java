package org.rdmasockets.verbs;

/**
 * A completion queue ({@code struct ibv_cq}), shared by as many queue pairs as it has room for. Room is reserved when
 * a queue pair is made and given back when the queue pair is closed and the queue was found empty after that, so it
 * cannot overrun.
 *
 * <p>Recipe that loses no event: arm, poll until empty, wait for the channel, drain the channel, poll again.
 *
 * @since 0.1
 */
public interface CompletionQueue extends AutoCloseable {
    /** {@return the device} */
    Device device();

    /** {@return how many completions fit} */
    int entries();

    /** {@return how many entries are not reserved by queue pairs, and so for a new one to take} */
    int unreservedEntries();

    /**
     * Makes room for a batch to poll into.
     *
     * @param capacity most completions of one poll, at least 1
     * @return an empty batch, which fits every completion queue of this provider
     */
    WorkCompletions newBatch(int capacity);

    /**
     * Takes completions that are there ({@code ibv_poll_cq}); never waits, never allocates.
     *
     * @param batch filled from index 0; its earlier content is gone
     * @return how many completions were taken, 0 to the batch's capacity; 0 when this queue is closed
     * @throws VerbsException if the device refused
     */
    int poll(WorkCompletions batch) throws VerbsException;

    /**
     * Looks for completions as often as told, or until there may be some, without taking any: spinning that costs less
     * than polling, where a device can do so. Never waits otherwise, never allocates, and takes no lock.
     *
     * @param looks how often to look, at least 1
     * @return false if there was nothing at the last look; true if {@link #poll} may find something, or if only that
     *         can tell, as where a device has no such way
     */
    default boolean spin(int looks) {
        return true;
    }

    /**
     * Arms the queue ({@code ibv_req_notify_cq}, for all completions): the next completion makes one event on the
     * channel. Completions that were there already make none, so poll again after arming. Nothing happens when this
     * queue is closed.
     *
     * @throws VerbsException if the device refused
     */
    void requestNotification() throws VerbsException;

    /**
     * Changes the number of entries ({@code ibv_resize_cq}). <em>May block</em>.
     *
     * @param entries at least this many, not fewer than are reserved
     * @throws VerbsException if the device lacks {@link Capability#RESIZE_COMPLETION_QUEUE} or refuses
     */
    void resize(int entries) throws VerbsException;

    /** Destroys the queue ({@code ibv_destroy_cq}) as soon as its last queue pair is closed. <em>May block</em>. */
    @Override
    void close();
}
