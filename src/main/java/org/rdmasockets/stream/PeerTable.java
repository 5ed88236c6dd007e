package org.rdmasockets.stream;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * The peer's target table, into which our chunks are announced: entry 1 first, because entry 0 came with the private
 * data, then one after the other. Entries are staged in a few slots of the send region; there are as many as
 * control messages can be outstanding.
 */
final class PeerTable {
    private final MemorySegment memory;
    private final long stagedOffset;
    private final boolean swap;
    private final long address;
    private final int key;
    private final int entries;
    private final long offerAddress;
    private final int offerKey;
    private int next = 1;
    private int staged;

    /**
     * The table as the private data describes it.
     *
     * @param region the send region
     * @param stagedOffset where entries are staged
     * @param peer the peer's private data, checked
     */
    PeerTable(MemoryRegion region, long stagedOffset, ConnectData peer) {
        this.memory = region.segment();
        this.stagedOffset = stagedOffset;
        this.swap = peer.bigEndian() != ConnectData.isNativeBigEndian();
        this.address = peer.tableAddress();
        this.key = peer.tableKey();
        this.entries = peer.tableEntries();
        this.offerAddress = peer.chunkAddress() - TargetTable.ENTRY_BYTES;
        this.offerKey = peer.chunkKey();
    }

    /**
     * Fills the next staging slot with an entry, in the peer's byte order.
     *
     * @param chunkAddress where the chunk is
     * @param chunkKey the key for it
     * @param chunkBytes how long it is
     * @return offset of the slot in the send region
     */
    long stage(long chunkAddress, int chunkKey, int chunkBytes) {
        long slot = stagedOffset + (long) staged * TargetTable.ENTRY_BYTES;
        staged = (staged + 1) % SendQueue.CONTROL_SLOTS;
        memory.set(ValueLayout.JAVA_LONG, slot, swap ? Long.reverseBytes(chunkAddress) : chunkAddress);
        memory.set(ValueLayout.JAVA_INT, slot + Long.BYTES, swap ? Integer.reverseBytes(chunkKey) : chunkKey);
        memory.set(ValueLayout.JAVA_INT, slot + Long.BYTES + Integer.BYTES,
                swap ? Integer.reverseBytes(chunkBytes) : chunkBytes);
        return slot;
    }

    /**
     * Where the next entry goes.
     *
     * @return an address of the peer
     */
    long nextAddress() {
        long result = address + (long) next * TargetTable.ENTRY_BYTES;
        next = (next + 1) % entries;
        return result;
    }

    /**
     * The key of the table.
     *
     * @return a key of the peer
     */
    int key() {
        return key;
    }

    /**
     * Where an offer goes: right before the peer's first chunk.
     *
     * @return an address of the peer
     */
    long offerAddress() {
        return offerAddress;
    }

    /**
     * The key for the place of an offer.
     *
     * @return a key of the peer
     */
    int offerKey() {
        return offerKey;
    }
}
