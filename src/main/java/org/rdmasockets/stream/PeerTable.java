package org.rdmasockets.stream;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicReference;
import org.rdmasockets.verbs.SendRequest;

/**
 * The peer's target table, into which our chunks are announced: entry 1 first, because entry 0 came with the private
 * data, then one after the other. Unless the device copies what is posted, entries are staged in a few slots of the
 * send region; there are as many as control messages can be outstanding.
 *
 * <p>To be inherited from, so that a connection has one object less.
 */
abstract class PeerTable {
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());
    /** Memory for an entry that is announced, which seldom happens: one is enough for almost all connections. */
    private static final AtomicReference<byte[]> SPARE = new AtomicReference<>();
    private static final int KEY_OFFSET = Long.BYTES;
    private static final int LENGTH_OFFSET = KEY_OFFSET + Integer.BYTES;

    private boolean swap;
    private long address;
    private int key;
    /** 0 until it is known. */
    private int entries;
    private short maps;
    private long offerAddress;
    private int offerKey;
    private int next = 1;
    private byte staged;

    /** Takes the table as the private data describes it, which was checked. */
    void start(ConnectData peer) {
        swap = peer.bigEndian() != ConnectData.isNativeBigEndian();
        address = peer.tableAddress();
        key = peer.tableKey();
        entries = peer.tableEntries();
        maps = (short) peer.maps();
        offerAddress = peer.chunkAddress() - TargetTable.ENTRY_BYTES;
        offerKey = peer.chunkKey();
    }

    /**
     * Posts a message with an entry for a lent chunk, in the peer's byte order, in a request that was begun:
     * {@link org.rdmasockets.verbs.QueuePair#POSTED} or an error number.
     */
    final int announce(Chunk chunk, SendQueue sendQueue, SendRequest begun, int message) {
        byte[] spare = SPARE.getAndSet(null);
        byte[] entry = spare != null ? spare : new byte[TargetTable.ENTRY_BYTES];
        LONG.set(entry, 0, swap ? Long.reverseBytes(chunk.address()) : chunk.address());
        INT.set(entry, KEY_OFFSET, inPeersOrder(chunk.region.remoteKey()));
        INT.set(entry, LENGTH_OFFSET, inPeersOrder(chunk.lent()));
        sendQueue.addEntry(begun, entry, staged);
        staged = (byte) ((staged + 1) % SendQueue.CONTROL_SLOTS);
        int result = sendQueue.finish(WorkRequestId.UPDATE, entry.length, 0, message);
        SPARE.set(entry);
        return result;
    }

    /** Tells whether {@link #start} was called. */
    final boolean isStarted() {
        return entries > 0;
    }

    private int inPeersOrder(int value) {
        return swap ? Integer.reverseBytes(value) : value;
    }

    /** Where the next entry goes: an address of the peer. */
    long nextAddress() {
        long result = address + (long) next * TargetTable.ENTRY_BYTES;
        next = (next + 1) % entries;
        return result;
    }

    /** How many pieces of memory we may map for the peer to write to: entries behind the table, perhaps 0. */
    int maps() {
        return maps;
    }

    /** Where a map goes: an address of the peer. */
    long mapAddress(int index) {
        return address + (long) entries * TargetTable.ENTRY_BYTES + (long) index * MapTable.ENTRY_BYTES;
    }

    /** The peer's byte order: true if it is not ours. */
    boolean isSwapped() {
        return swap;
    }

    /** The key of the table, and of the maps behind it. */
    int key() {
        return key;
    }

    /** Where an offer goes: right before the peer's first chunk. Gives an address of the peer. */
    long offerAddress() {
        return offerAddress;
    }

    /** The key for the place of an offer. */
    int offerKey() {
        return offerKey;
    }
}
