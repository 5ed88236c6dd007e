package org.rdmasockets.provider.sharedmemory.link;

import java.lang.foreign.MemorySegment;

/**
 * Puts entries into a link's ring for the peer. Several threads of this process may, one after another:
 *
 * <pre>{@code
 * writer.lock();
 * try {
 *     if (!writer.begin(payloadBytes)) {
 *         return false; // no room: the peer rings when there is, see LinkHandler.onDoorbell
 *     }
 *     writer.header(kind, flags, slot, value, first, second);
 *     MemorySegment.copy(source, from, writer.memory(), writer.payloadOffset(), payloadBytes);
 *     writer.publish();
 * } finally {
 *     writer.unlock();
 * }
 * writer.notifyPeer(); // once after the last of several, without the lock
 * }</pre>
 */
public interface RingWriter {
    /** Longest payload of one entry, in bytes. */
    int MAX_PAYLOAD_BYTES = 16 << 10;

    /** Waits for the other producers of this process, each of which holds the lock for one entry or a few. */
    void lock();

    /** Lets the next producer in; an entry begun and not published is dropped. */
    void unlock();

    /**
     * Begins an entry. When there is no room, the peer is asked to ring as soon as there is, and room is looked for
     * once more after that, so that no ring is missed.
     *
     * @param payloadBytes 0 to {@link #MAX_PAYLOAD_BYTES}
     * @return false if there is no room now, or the link is dead ({@link Link#isOpen})
     */
    boolean begin(int payloadBytes);

    /**
     * Sets the header of the entry begun.
     *
     * @param kind 0 to 255
     * @param flags 0 to 65,535
     * @param slot the peer's slot
     * @param value first argument
     * @param first second argument
     * @param second third argument
     */
    void header(int kind, int flags, int slot, int value, long first, long second);

    /**
     * The memory to put the payload of the entry begun into.
     *
     * @return the ring; only the payload of the entry may be written
     */
    MemorySegment memory();

    /**
     * Where the payload of the entry begun belongs in {@link #memory()}.
     *
     * @return offset in bytes, a multiple of 8
     */
    long payloadOffset();

    /** Publishes the entry begun, by one release store. What was copied to the peer's regions before is seen first. */
    void publish();

    /** Rings if the peer is armed. Without the lock; after {@link #publish}. */
    void notifyPeer();
}
