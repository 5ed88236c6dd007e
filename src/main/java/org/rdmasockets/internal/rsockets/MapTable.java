package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The memory that the peer has mapped for us to write to. It writes each map into an entry of 24 bytes behind the
 * target table, in our byte order ({@code rs_iomap}), and tells which by a message:
 *
 * <pre>
 *  0                 8                 16       20       24
 * +-----------------+-----------------+--------+--------+
 * | offset          | address         | key    | length |
 * +-----------------+-----------------+--------+--------+
 * </pre>
 *
 * Offsets are the peer's own: what it has mapped at an offset is written by that offset. An entry is copied once, when
 * the message says so, and the copy is checked and used. One without a length stands for nothing. C does not look
 * whether offsets overlap, and takes the first entry that fits; so do we.
 */
final class MapTable {
    /** Size of an entry in bytes. */
    static final int ENTRY_BYTES = 24;
    /** Where the entries begin in the remote region. */
    static final int OFFSET = RemoteTargetTable.ENTRIES * RemoteTargetTable.ENTRY_BYTES;
    /** The result of {@link #find} if no entry has the offset. */
    static final int NONE = -1;

    private static final int ADDRESS_OFFSET = 8;
    private static final int KEY_OFFSET = 16;
    private static final int LENGTH_OFFSET = 20;
    /** Numbers of entries up to this travel as they are. */
    private static final int EXACT = 128;
    private static final int SCALE_SHIFT = 8;

    private final MemorySegment memory;
    /** Not negative, and so small that the lengths can be added. */
    private final long[] offsets;
    private final long[] addresses;
    private final int[] keys;
    /** 0 for nothing, otherwise positive. */
    private final int[] lengths;

    MapTable(MemorySegment memory, int entries) {
        this.memory = memory;
        offsets = new long[entries];
        addresses = new long[entries];
        keys = new int[entries];
        lengths = new int[entries];
    }

    /** Takes an entry that the peer names. Null if all is well, otherwise what the peer did wrong. */
    String adopt(int index) {
        if (index >= lengths.length) {
            return "mapped memory in entry " + index + " where there are " + lengths.length;
        }
        long entry = OFFSET + (long) index * ENTRY_BYTES;
        long offset = memory.get(ValueLayout.JAVA_LONG, entry);
        long address = memory.get(ValueLayout.JAVA_LONG, entry + ADDRESS_OFFSET);
        int length = memory.get(ValueLayout.JAVA_INT, entry + LENGTH_OFFSET);
        if (length == 0) {
            offset = 0;
            address = 0;
        } else if (!RemoteTargetTable.isRange(address, length) || offset < 0 || offset > Long.MAX_VALUE - length) {
            return "mapped " + Integer.toUnsignedString(length) + " bytes at offset " + offset;
        }
        offsets[index] = offset;
        addresses[index] = address;
        keys[index] = memory.get(ValueLayout.JAVA_INT, entry + KEY_OFFSET);
        lengths[index] = length;
        return null;
    }

    /** Looks an offset up: the first entry that has it, or {@link #NONE}. */
    int find(long at) {
        for (int i = 0; i < lengths.length; i++) {
            if (at >= offsets[i] && at - offsets[i] < lengths[i]) {
                return i;
            }
        }
        return NONE;
    }

    /** Whether all of a range is mapped, by one entry or several. */
    boolean covers(long at, int length) {
        int covered = 0;
        while (covered < length) {
            int entry = find(at + covered);
            if (entry == NONE) {
                return false;
            }
            covered += Math.min(length - covered, room(entry, at + covered));
        }
        return true;
    }

    /** How much can be written at an offset that an entry has: bytes to its end, at least 1. */
    int room(int entry, long at) {
        return lengths[entry] - (int) (at - offsets[entry]);
    }

    /** Where an offset is that an entry has: an address of the peer. */
    long address(int entry, long at) {
        return addresses[entry] + (at - offsets[entry]);
    }

    /** The peer's key for an entry. */
    int key(int entry) {
        return keys[entry];
    }

    /** How a number of entries travels: exactly up to 128, beyond that rounded down to a multiple of 256. */
    static int scale(int entries) {
        return entries <= EXACT ? entries : EXACT | entries >> SCALE_SHIFT;
    }

    /** The number that travelled; not more than were meant. */
    static int unscale(int scaled) {
        return scaled <= EXACT ? scaled : (scaled & EXACT - 1) << SCALE_SHIFT;
    }
}
