package org.rdmasockets.internal.rsockets;

import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * The memory of a connection beyond what it was made with. The connection says what it wants and what it no longer
 * needs; its owner makes and closes the regions, which takes too long for a call that reads or writes:
 *
 * <pre>
 * when isDue():   takeRetired(), and close those
 *                 wantedChunkBytes(): two regions, each then to supplyChunk()      or refuse()
 *                 wantedSendBytes(): one region, to supplySend()                   or refuse()
 *                 StreamConnection.sendControls()
 * after a pause:  StreamConnection.shrink()
 * at the end:     StreamConnection.abort(), then takeAll(), and close those
 * </pre>
 *
 * A chunk's region is retired when all of it has arrived and all of that was read, not earlier.
 *
 * <p>Threads: as the connection's.
 */
public final class StreamMemory {
    final ChunkStock chunks;
    private final SendBuffer sendBuffer;
    /** Every region that the owner has supplied and not taken back; null once this is closed. */
    private List<MemoryRegion> supplied = List.of();
    /** Their bytes together. */
    private long bytes;

    StreamMemory(ChunkStock chunks, SendBuffer sendBuffer) {
        this.chunks = chunks;
        this.sendBuffer = sendBuffer;
        change();
    }

    /** Whether what is asked here, or {@link StreamConnection#isLarge}, may have changed since the last call. */
    public boolean takeChange() {
        boolean taken = chunks.changed || sendBuffer.changed;
        if (taken) {
            chunks.changed = false;
            sendBuffer.changed = false;
        }
        return taken;
    }

    void change() {
        chunks.changed = true;
    }

    /** Tells whether the owner has something to make or to close. */
    public boolean isDue() {
        return supplied != null && (chunks.isDue() || sendBuffer.isDue());
    }

    /**
     * How many bytes may arrive before a thread must take them in, even if the application does not read, so that the
     * connection learns in time that it lacks memory; {@code Integer.MAX_VALUE} if it does not matter.
     */
    public int patienceBytes() {
        return supplied != null && chunks.canGrow() ? chunks.lowWater() : Integer.MAX_VALUE;
    }

    /** The size of the two wanted regions for chunks: bytes, or 0. */
    public int wantedChunkBytes() {
        return supplied == null ? 0 : chunks.wanted();
    }

    /** The size of the wanted region for the send ring: bytes, or 0. */
    public int wantedSendBytes() {
        return supplied == null ? 0 : sendBuffer.wanted();
    }

    /**
     * Gives one of the two regions for chunks, zeroed, with LOCAL_WRITE and REMOTE_WRITE, of {@link #wantedChunkBytes}
     * or more. It is the connection's until it is retired, perhaps at once; the caller's if false: this has ended.
     */
    public boolean supplyChunk(MemoryRegion region, int bytes, boolean last) {
        if (supplied == null) {
            return false;
        }
        note(region);
        chunks.supply(region, bytes, last);
        return true;
    }

    /**
     * Gives a region for the send ring, with LOCAL_WRITE, of {@link #wantedSendBytes} or more. It is the connection's
     * until it is retired, perhaps at once; the caller's if false: this has ended.
     */
    public boolean supplySend(MemoryRegion region, int bytes) {
        if (supplied == null) {
            return false;
        }
        note(region);
        sendBuffer.supply(region, bytes);
        return true;
    }

    private void note(MemoryRegion region) {
        if (supplied.isEmpty()) {
            supplied = new ArrayList<>();
        }
        supplied.add(region);
        bytes += region.lengthBytes();
        change();
    }

    /** Says that the wanted memory cannot be had now. The connection goes on with what it has. */
    public void refuse() {
        chunks.refuse();
        sendBuffer.refuse();
    }

    /** Takes back regions that are not needed any more, for the caller to close; none after {@link #takeAll}. */
    public List<MemoryRegion> takeRetired() {
        if (supplied == null) {
            return List.of();
        }
        change();
        List<MemoryRegion> retired = new ArrayList<>(chunks.takeRetired());
        MemoryRegion ring = sendBuffer.takeRetired();
        if (ring != null) {
            retired.add(ring);
        }
        for (MemoryRegion region : retired) {
            supplied.remove(region);
            bytes -= region.lengthBytes();
        }
        if (supplied.isEmpty()) {
            supplied = List.of();
        }
        return retired;
    }

    /** Takes back everything, for the caller to close, once the queue pair of an aborted connection is gone. */
    public List<MemoryRegion> takeAll() {
        List<MemoryRegion> all = supplied == null ? List.of() : supplied;
        supplied = null;
        bytes = 0;
        change();
        return all;
    }

    /** How much the owner has supplied and not taken back. */
    public long bytes() {
        return bytes;
    }
}
