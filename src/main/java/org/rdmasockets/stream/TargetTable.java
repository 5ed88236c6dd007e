package org.rdmasockets.stream;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The chunks that the peer lends us, in the order in which they are filled. The peer writes them into this table, one
 * entry of 16 bytes after the other, in our byte order ({@code rs_sge}):
 *
 * <pre>
 *  0                                8               12              16
 * +--------------------------------+---------------+---------------+
 * | address                        | key           | length        |
 * +--------------------------------+---------------+---------------+
 * </pre>
 *
 * <p>The peer may rewrite the memory whenever it likes, so an entry is copied once, when a message says so, and the
 * copy is checked and used. An honest peer writes an entry anew only after data for all of its chunk has arrived, so
 * clearing the entry when it is copied hides nothing.
 *
 * <p>A peer that is ours may also offer a chunk for all others, in a place of its own in the same form: entries may be
 * in use then, and what is announced in one could be overwritten before it was seen.
 */
final class TargetTable {
    /** Size of an entry in bytes. */
    static final int ENTRY_BYTES = 16;
    /** Entries of our table; a peer takes turns through them, beginning with 1. */
    static final int ENTRIES = 2;

    /** Where an offered chunk is kept until it is used. */
    private static final int OFFER = ENTRIES;

    private static final int ADDRESS_OFFSET = 0;
    private static final int KEY_OFFSET = 8;
    private static final int LENGTH_OFFSET = 12;
    private static final String NOT_THERE = "announced a chunk that is not in the table";
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private final MemorySegment memory;
    private final int offerOffset;
    private final long[] addresses = new long[ENTRIES + 1];
    private final int[] keys = new int[ENTRIES + 1];
    private final int[] rooms = new int[ENTRIES + 1];
    private int current;
    private int expected = 1;
    private int firstBytes;
    private boolean large;

    /**
     * An empty table.
     *
     * @param memory the remote region, zeroed, with the table at its beginning
     * @param offerOffset where an offered chunk lies in it
     */
    TargetTable(MemorySegment memory, long offerOffset) {
        this.memory = memory;
        this.offerOffset = (int) offerOffset;
    }

    /**
     * Tells whether a peer can mean a piece of memory.
     *
     * @param address its beginning, unsigned
     * @param lengthBytes its length as it came
     * @return true if it has 1 to 2^31 - 1 bytes and does not run over the end of the address space
     */
    static boolean isRange(long address, int lengthBytes) {
        return lengthBytes > 0 && Long.compareUnsigned(address + lengthBytes, address) > 0;
    }

    /**
     * Takes the first chunk, which comes with the private data and fills entry 0.
     *
     * @param chunk the peer's private data, checked
     */
    void first(ConnectData chunk) {
        addresses[0] = chunk.chunkAddress();
        keys[0] = chunk.chunkKey();
        rooms[0] = chunk.chunkBytes();
        firstBytes = chunk.chunkBytes();
    }

    /**
     * Takes the entry that is expected next, if it is there.
     *
     * @param announced true if the message said that there is one; iWARP's messages do not say
     * @return null if all is well, otherwise what the peer did wrong
     */
    String adopt(boolean announced) {
        long entry = (long) expected * ENTRY_BYTES;
        int length = length(entry);
        if (length == 0) {
            return announced ? NOT_THERE : null;
        }
        if (rooms[expected] != 0) {
            return "announced a chunk in an entry that is still in use";
        }
        String wrong = copy(entry, length, expected);
        expected = wrong == null ? (expected + 1) % ENTRIES : expected;
        return wrong;
    }

    /**
     * Takes the chunk that is offered for all others; it is used from {@link #moveToOffer} on.
     *
     * @return null if all is well, otherwise what the peer did wrong
     */
    String adoptOffer() {
        int length = length(offerOffset);
        return length == 0 ? NOT_THERE : copy(offerOffset, length, OFFER);
    }

    /** Forgets all chunks but the one that was offered. */
    void moveToOffer() {
        // The next announcement still goes to the entry that is expected, so that one comes after the offered chunk.
        current = (expected + 1) % ENTRIES;
        rooms[expected] = 0;
        addresses[current] = addresses[OFFER];
        keys[current] = keys[OFFER];
        rooms[current] = rooms[OFFER];
        large = false;
    }

    /** The length is the last field of the one write that fills an entry: seen it, the others are there. */
    private int length(long entry) {
        return (int) INT.getAcquire(memory, entry + LENGTH_OFFSET);
    }

    /** Copies an entry out, checked, and clears it. */
    private String copy(long entry, int length, int index) {
        long address = memory.get(ValueLayout.JAVA_LONG, entry + ADDRESS_OFFSET);
        if (!isRange(address, length)) {
            return "announced a chunk of " + Integer.toUnsignedString(length) + " bytes";
        }
        addresses[index] = address;
        keys[index] = memory.get(ValueLayout.JAVA_INT, entry + KEY_OFFSET);
        rooms[index] = length;
        large |= length > firstBytes;
        // Before anything is sent into the chunk: from its last byte on, the peer may write this entry again.
        INT.setRelease(memory, entry + LENGTH_OFFSET, 0);
        return null;
    }

    /**
     * Tells whether the peer has lent more than it began with.
     *
     * @return true if a chunk since the last offer was larger than the first
     */
    boolean isLarge() {
        return large;
    }

    /**
     * How much fits into the current chunk; one write never crosses its end.
     *
     * @return bytes, 0 if no chunk is left
     */
    int room() {
        return rooms[current];
    }

    /**
     * Where the next write goes.
     *
     * @return an address of the peer
     */
    long address() {
        return addresses[current];
    }

    /**
     * The key for the next write.
     *
     * @return a key of the peer
     */
    int key() {
        return keys[current];
    }

    /**
     * Uses room up; called before the write is posted.
     *
     * @param bytes how many, at most {@link #room()}
     * @return true if that was all of the chunk
     */
    boolean take(int bytes) {
        assert bytes <= rooms[current];
        addresses[current] += bytes;
        rooms[current] -= bytes;
        boolean all = rooms[current] == 0;
        if (all) {
            current = (current + 1) % ENTRIES;
        }
        return all;
    }
}
