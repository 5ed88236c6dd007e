package org.rdmasockets.verbs;

/**
 * A request for the receive queue ({@code struct ibv_recv_wr}), reusable. Not for use by two threads at a time.
 *
 * @since 0.1
 */
public final class ReceiveRequest {
    private long workRequestId;
    private final int maxElements;
    private ScatterGatherList elements = ScatterGatherList.NONE;

    /**
     * A request with room for scatter elements.
     *
     * @param maxElements most elements, at least 1
     */
    public ReceiveRequest(int maxElements) {
        if (maxElements < 1) {
            throw new IllegalArgumentException("a request needs room for at least one element, not " + maxElements);
        }
        this.maxElements = maxElements;
    }

    /**
     * Starts a receive without elements, enough for writes with immediate data on devices with
     * {@link Capability#EMPTY_RECEIVE}.
     *
     * @param newWorkRequestId comes back with the completion
     * @return this
     */
    public ReceiveRequest receive(long newWorkRequestId) {
        workRequestId = newWorkRequestId;
        elements.clear();
        return this;
    }

    /**
     * Adds a piece of a memory region with {@link AccessFlag#LOCAL_WRITE}.
     *
     * @param region registered memory
     * @param offsetBytes where the piece begins
     * @param lengthBytes how long it is
     * @return this
     * @throws IndexOutOfBoundsException if the piece is not inside the region, or there is no room for an element
     */
    public ReceiveRequest add(MemoryRegion region, long offsetBytes, int lengthBytes) {
        elements = elements.withRoom(maxElements);
        elements.add(region, offsetBytes, lengthBytes);
        return this;
    }

    /** {@return {@code wr_id}, which comes back with the completion} */
    public long workRequestId() {
        return workRequestId;
    }

    /** {@return the scatter elements, a list that this request owns} */
    public ScatterGatherList elements() {
        return elements;
    }
}
