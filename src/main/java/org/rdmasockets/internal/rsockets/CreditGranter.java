package org.rdmasockets.internal.rsockets;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Tells the peer how many messages it may send and where it may write: credit updates, with a chunk or without, and
 * offers of a small chunk for all that are lent. Chunks are announced in the peer's target table: entry 1 first, for
 * entry 0 came with the private data, then one after the other. Unless the device copies what is posted, entries are
 * staged in a few slots of the send region; there are as many as control messages can be outstanding.
 */
final class CreditGranter {
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());
    /** Memory for an entry that is announced, which seldom happens: one is enough for almost all connections. */
    private static final AtomicReference<byte[]> SPARE = new AtomicReference<>();
    private static final int KEY_OFFSET = Long.BYTES;
    private static final int LENGTH_OFFSET = KEY_OFFSET + Integer.BYTES;

    /** The peer's byte order is not ours. */
    boolean swap;
    private long address;
    /** The key of the table, and of the maps behind it. */
    int key;
    /** 0 until it is known. */
    private int entries;
    /** How many pieces of memory we may map for the peer to write to: entries behind the table, perhaps 0. */
    short maps;
    private long offerAddress;
    private int offerKey;
    private int next = 1;
    private byte staged;

    private final MessageSender sendQueue;
    private final SendWindow window;
    private final ReceiveBuffer received;
    private boolean peerMovesOn;
    /** A small chunk is to be offered, once all is read. */
    boolean offering;

    CreditGranter(MessageSender sendQueue, SendWindow window, ReceiveBuffer received) {
        this.sendQueue = sendQueue;
        this.window = window;
        this.received = received;
    }

    /** Takes the table as the private data describes it, which was checked. */
    void start(ConnectData peer) {
        swap = peer.bigEndian() != ConnectData.isNativeBigEndian();
        address = peer.tableAddress();
        key = peer.tableKey();
        entries = peer.tableEntries();
        maps = (short) peer.maps();
        offerAddress = peer.chunkAddress() - RemoteTargetTable.ENTRY_BYTES;
        offerKey = peer.chunkKey();
        peerMovesOn = peer.movesOn();
    }

    /** Tells whether both ends know offers: false before the start, and with C. */
    boolean peerMovesOn() {
        return peerMovesOn;
    }

    /** Offers a small chunk for all that are lent, if one is large and the peer takes offers, as soon as possible. */
    void offer() {
        offering = peerMovesOn && received.isOfferOfUse();
    }

    private boolean isOfferDue() {
        return offering && received.isOfferOfUse() && window.allowsUpdate();
    }

    boolean isDue() {
        return received.isChunkDue() || received.areCreditsDue() || offering && isOfferDue();
    }

    /** Whether it can be told now: updates that the peer can do without wait until it is sure to take them. */
    boolean mayPost() {
        boolean offer = isOfferDue();
        return sendQueue.hasControlSlot(offer || received.isChunkDue())
                && (offer || window.allowsUpdate() || received.isPeerStarved());
    }

    /** Posts one message; gives {@link org.rdmasockets.verbs.QueuePair#POSTED} or an error number. */
    int post() {
        boolean offer = isOfferDue();
        window.controlSent(received.granted());
        if (offer) {
            offering = false;
            return post(received.offer(), offerAddress, offerKey, ImmediateData.control(ImmediateData.OFFER));
        }
        if (received.isChunkDue()) {
            return post(received.lend(), nextAddress(), key, ImmediateData.update(received.grant()));
        }
        return sendQueue.postMessage(WorkRequestId.UPDATE, ImmediateData.update(received.grant()));
    }

    /** Posts a message with an entry for a chunk, in the peer's byte order: {@code POSTED} or an error number. */
    private int post(Chunk chunk, long entryAddress, int entryKey, int message) {
        byte[] spare = SPARE.getAndSet(null);
        byte[] entry = spare != null ? spare : new byte[RemoteTargetTable.ENTRY_BYTES];
        LONG.set(entry, 0, swap ? Long.reverseBytes(chunk.address()) : chunk.address());
        INT.set(entry, KEY_OFFSET, inPeersOrder(chunk.region.remoteKey()));
        INT.set(entry, LENGTH_OFFSET, inPeersOrder(chunk.lent()));
        sendQueue.addEntry(sendQueue.begin(WorkRequestId.UPDATE, entryAddress, entryKey), entry, staged);
        staged = (byte) ((staged + 1) % MessageSender.CONTROL_SLOTS);
        int result = sendQueue.finish(WorkRequestId.UPDATE, entry.length, 0, message);
        SPARE.set(entry);
        return result;
    }

    private int inPeersOrder(int value) {
        return swap ? Integer.reverseBytes(value) : value;
    }

    /** Where the next entry goes: an address of the peer. */
    private long nextAddress() {
        long result = address + (long) next * RemoteTargetTable.ENTRY_BYTES;
        next = (next + 1) % entries;
        return result;
    }

    /** Where a map goes: an address of the peer. */
    long mapAddress(int index) {
        return address + (long) entries * RemoteTargetTable.ENTRY_BYTES + (long) index * MapTable.ENTRY_BYTES;
    }
}
