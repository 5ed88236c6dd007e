package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

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
final class RemoteTargetTable {
    /** Size of an entry in bytes. */
    static final int ENTRY_BYTES = 16;
    /** Entries of our table; a peer takes turns through them, beginning with 1. */
    static final int ENTRIES = 2;

    private static final int ADDRESS_OFFSET = 0;
    private static final int KEY_OFFSET = 8;
    private static final int LENGTH_OFFSET = 12;
    private static final String NOT_THERE = "announced a chunk that is not in the table";
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    /** A chunk that was offered for all others. */
    private record Offer(long address, int key, int room) {}

    private final ByteBuffer memory;
    private final int offerOffset;
    /** Where the next write goes, an address of the peer, and the key for it: in the chunk that is filled now. */
    long address;
    int key;
    /** How many bytes fit into that chunk, whose end no write crosses; 0 if there is none. */
    int room;
    /** The one after it, likewise; there is none as long as that has no room. */
    private long nextAddress;
    private int nextKey;
    private int nextRoom;
    /** Kept until it is used; null for none. */
    private Offer offer;
    private int firstBytes;
    /** The entry that the peer fills next. */
    private byte expected = 1;
    private boolean large;

    /** An empty table at the beginning of the remote region, which is zeroed, and the place of an offered chunk. */
    RemoteTargetTable(MemorySegment memory, long offerOffset) {
        this.memory = memory.asByteBuffer().order(ByteOrder.nativeOrder());
        this.offerOffset = (int) offerOffset;
    }

    /** Whether a peer can mean a piece of memory: 1 to 2^31 - 1 bytes that end within the address space. */
    static boolean isRange(long address, int lengthBytes) {
        return lengthBytes > 0 && Long.compareUnsigned(address + lengthBytes, address) > 0;
    }

    /** Takes the first chunk, which comes with the private data, checked, and fills entry 0. */
    void first(ConnectData chunk) {
        address = chunk.chunkAddress();
        key = chunk.chunkKey();
        room = chunk.chunkBytes();
        firstBytes = chunk.chunkBytes();
    }

    /** Takes the next entry if it is there; iWARP does not say so. Null, or what the peer did wrong. */
    String adopt(boolean announced) {
        int entry = expected * ENTRY_BYTES;
        int length = length(entry);
        if (length == 0) {
            return announced ? NOT_THERE : null;
        }
        if (nextRoom != 0) {
            return "announced a chunk in an entry that is still in use";
        }
        long chunk = addressIn(entry);
        if (!isRange(chunk, length)) {
            return wrongLength(length);
        }
        append(chunk, keyIn(entry), length);
        taken(entry, length);
        expected = (byte) ((expected + 1) % ENTRIES);
        return null;
    }

    private void append(long chunkAddress, int chunkKey, int chunkBytes) {
        if (room == 0) {
            address = chunkAddress;
            key = chunkKey;
            room = chunkBytes;
        } else {
            nextAddress = chunkAddress;
            nextKey = chunkKey;
            nextRoom = chunkBytes;
        }
    }

    /** Takes the chunk that is offered for all others, for {@link #moveToOffer}. Null, or what was wrong. */
    String adoptOffer() {
        int length = length(offerOffset);
        if (length == 0) {
            return NOT_THERE;
        }
        long chunk = addressIn(offerOffset);
        if (!isRange(chunk, length)) {
            return wrongLength(length);
        }
        offer = new Offer(chunk, keyIn(offerOffset), length);
        taken(offerOffset, length);
        return null;
    }

    /** Forgets all chunks but the one that was offered. */
    void moveToOffer() {
        // The next announcement still goes to the entry that is expected, so that one comes after the offered chunk.
        room = 0;
        nextRoom = 0;
        append(offer.address, offer.key, offer.room);
        offer = null;
        large = false;
    }

    /** The length is the last field of the one write that fills an entry: seen it, the others are there. */
    private int length(int entry) {
        return (int) INT.getAcquire(memory, entry + LENGTH_OFFSET);
    }

    private long addressIn(int entry) {
        return memory.getLong(entry + ADDRESS_OFFSET);
    }

    private int keyIn(int entry) {
        return memory.getInt(entry + KEY_OFFSET);
    }

    private static String wrongLength(int length) {
        return "announced a chunk of " + Integer.toUnsignedString(length) + " bytes";
    }

    /** Clears an entry that was copied out. */
    private void taken(int entry, int length) {
        large |= length > firstBytes;
        // Before anything is sent into the chunk: from its last byte on, the peer may write this entry again.
        INT.setRelease(memory, entry + LENGTH_OFFSET, 0);
    }

    /** Whether the peer has lent more than it began with: a chunk since the last offer was larger. */
    boolean isLarge() {
        return large;
    }

    /** Uses at most {@link #room} bytes up, before the write is posted. True if that was all of the chunk. */
    boolean take(int bytes) {
        assert bytes <= room;
        address += bytes;
        room -= bytes;
        boolean all = room == 0;
        if (all) {
            address = nextAddress;
            key = nextKey;
            room = nextRoom;
            nextRoom = 0;
        }
        return all;
    }
}
