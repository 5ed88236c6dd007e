package org.rdmasockets.provider.sharedmemory.link;

import java.lang.foreign.MemorySegment;

/**
 * An entry that a peer published. The meaning of all header fields but the payload's length belongs to the users of the
 * link; nothing of it was checked, except that the payload lies inside the ring.
 */
public interface RingEntry {
    /**
     * What it is.
     *
     * @return 0 to 255
     */
    int kind();

    /**
     * Bits that go with the kind.
     *
     * @return 0 to 65,535
     */
    int flags();

    /**
     * Whom it is for: an index of {@link LinkSlot#index()}, if the peer is honest.
     *
     * @return any number
     */
    int slot();

    /**
     * First argument, such as immediate data.
     *
     * @return any number
     */
    int value();

    /**
     * Second argument.
     *
     * @return any number
     */
    long first();

    /**
     * Third argument.
     *
     * @return any number
     */
    long second();

    /**
     * How much payload there is.
     *
     * @return 0 to {@link RingWriter#MAX_PAYLOAD_BYTES}
     */
    int payloadBytes();

    /**
     * The memory that holds the payload; only {@link #payloadBytes()} from {@link #payloadOffset()} are this entry's.
     *
     * @return the peer's ring
     */
    MemorySegment memory();

    /**
     * Where the payload begins in {@link #memory()}.
     *
     * @return offset in bytes, a multiple of 8
     */
    long payloadOffset();
}
