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
 */
final class TargetTable {
    /** Size of an entry in bytes. */
    static final int ENTRY_BYTES = 16;
    /** Entries of our table; a peer takes turns through them, beginning with 1. */
    static final int ENTRIES = 2;

    private static final int ADDRESS_OFFSET = 0;
    private static final int KEY_OFFSET = 8;
    private static final int LENGTH_OFFSET = 12;
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private final MemorySegment memory;
    private final long[] addresses = new long[ENTRIES];
    private final int[] keys = new int[ENTRIES];
    private final int[] rooms = new int[ENTRIES];
    private int current;
    private int expected = 1;

    /**
     * An empty table.
     *
     * @param memory the remote region, zeroed, with the table at its beginning
     */
    TargetTable(MemorySegment memory) {
        this.memory = memory;
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
    }

    /**
     * Takes the entry that is expected next, if it is there.
     *
     * @param announced true if the message said that there is one; iWARP's messages do not say
     * @return null if all is well, otherwise what the peer did wrong
     */
    String adopt(boolean announced) {
        long entry = (long) expected * ENTRY_BYTES;
        // The length is the last field of the one write that fills an entry: seen it, the others are there.
        int length = (int) INT.getAcquire(memory, entry + LENGTH_OFFSET);
        if (length == 0) {
            return announced ? "announced a chunk that is not in the table" : null;
        }
        if (rooms[expected] != 0) {
            return "announced a chunk in an entry that is still in use";
        }
        long address = memory.get(ValueLayout.JAVA_LONG, entry + ADDRESS_OFFSET);
        if (!isRange(address, length)) {
            return "announced a chunk of " + Integer.toUnsignedString(length) + " bytes";
        }
        addresses[expected] = address;
        keys[expected] = memory.get(ValueLayout.JAVA_INT, entry + KEY_OFFSET);
        rooms[expected] = length;
        // Before anything is sent into the chunk: from its last byte on, the peer may write this entry again.
        INT.setRelease(memory, entry + LENGTH_OFFSET, 0);
        expected = (expected + 1) % ENTRIES;
        return null;
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
     */
    void take(int bytes) {
        assert bytes <= rooms[current];
        addresses[current] += bytes;
        rooms[current] -= bytes;
        if (rooms[current] == 0) {
            current = (current + 1) % ENTRIES;
        }
    }
}
