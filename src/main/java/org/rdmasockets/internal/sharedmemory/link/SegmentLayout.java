package org.rdmasockets.internal.sharedmemory.link;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The memory of a link. Side 0 is the process that dialled; direction 0 goes from side 0 to side 1. Everything in it
 * may have been written by a hostile peer. Words that different sides write are 256 bytes apart, because processors
 * fetch lines in pairs; but for the first argument of an open entry.
 *
 * <pre>
 * 0          control page of direction 0     +0    head: bytes ever consumed; written by the consumer
 *                                            +256  armed: 1 if the consumer wants to be rung at the next entry;
 *                                                  written by both
 *                                            +512  blocked: 1 if the producer wants to be rung when there is room
 *                                            +768  how many names the producer has given up; written by the producer
 * 4,096      control page of direction 1
 * 8,192      slots of side 0, 64 bytes each  +0    count of receives posted; written by the slot's side
 *                                            +4    starving: 1 if the other side wants to be rung at the next one
 *                                            +8    1 if receives are posted when the other side asks for them
 * + 1 MiB    slots of side 1
 * + 1 MiB    ring of direction 0, 256 KiB
 * + 256 KiB  ring of direction 1, 256 KiB
 *
 * entry, aligned to 64 bytes, never wrapping around the end of the ring:
 *  0  length of header and payload, 30 bits, and the turn, 2 bits   4  kind, 16 bits   6  flags, 16 bits
 *  8  slot                       12  value
 * 16  first                         24  second, or unused                32  payload
 *
 * The first word of an entry is stored last. Its turn is 1 or 2, for every other time around the ring, so that the
 * consumer, who looks where the next entry will be, knows it from what the last time left there. If that may have been
 * anything else than the first word of an entry, the producer stores 0 there before it publishes the entry in front of
 * it; not always, for a line of memory that each entry changes twice would go to the consumer twice.
 * Of an open entry, first may still be changed by the producer until the consumer takes it, which puts TAKEN there.
 * </pre>
 */
final class SegmentLayout {
    static final int HEAD = 0;
    static final int ARMED = 256;
    static final int BLOCKED = 512;
    static final int NAMES = 768;

    static final int SLOT_BYTES = 64;
    static final int SLOT_COUNT = 0;
    static final int SLOT_STARVING = 4;
    static final int SLOT_ON_REQUEST = 8;

    static final int RING_BYTES = 256 << 10;
    static final int ENTRY_ALIGNMENT = 64;
    static final int ENTRY_HEADER_BYTES = 32;
    static final int ENTRY_FIRST = 16;
    /** An entry begins with four words: the first, then slot and value, and the two arguments. */
    static final int WORD_SHIFT = 3;
    /** Number of the word with the second argument. */
    static final int SECOND_WORD = 3;
    /** First argument of an open entry that was taken; no user may give it. */
    static final long TAKEN = -1;
    /** The kind of an entry without meaning that fills the rest of the ring; users have 0 to 255. */
    static final int PADDING = 0xFFFF;

    private static final int CONTROL_BYTES = 4096;
    private static final int SLOTS = 2 * CONTROL_BYTES;
    private static final int SLOTS_BYTES = LinkSlot.MOST * SLOT_BYTES;
    private static final int RINGS = SLOTS + 2 * SLOTS_BYTES;
    private static final int LENGTH_BITS = 30;

    /** Size of the whole, which the kernel rounds up to whole pages. */
    static final long BYTES = RINGS + 2 * RING_BYTES;

    /** Access to an aligned long, by buffer and offset: by layout, a first connect would load sixteen classes more. */
    static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    /** Access to an aligned int, likewise. */
    static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private SegmentLayout() {}

    /** Where the control page of a direction begins. */
    static int control(int direction) {
        return direction * CONTROL_BYTES;
    }

    /** Where a slot of a side begins. */
    static int slot(int side, int index) {
        return SLOTS + side * SLOTS_BYTES + index * SLOT_BYTES;
    }

    /** Where the ring of a direction begins. */
    static int ring(int direction) {
        return RINGS + direction * RING_BYTES;
    }

    /** The first word of an entry, which begins at a position in bytes ever published. */
    static long firstWord(long position, int length, int kindAndFlags) {
        return length | (long) turn(position) << LENGTH_BITS | (long) kindAndFlags << Integer.SIZE;
    }

    /** Whether a word is the first of an entry at a position, and not what was there before. */
    static boolean isFirstWord(long word, long position) {
        return (int) word >>> LENGTH_BITS == turn(position);
    }

    /** The length in a first word, 0 to 2^30 - 1. */
    static int length(long firstWord) {
        return (int) firstWord & (1 << LENGTH_BITS) - 1;
    }

    private static int turn(long position) {
        return 1 + (int) (position / RING_BYTES & 1);
    }

    /** The length of an entry in the ring. */
    static int aligned(int lengthBytes) {
        return lengthBytes + ENTRY_ALIGNMENT - 1 & -ENTRY_ALIGNMENT;
    }
}
