package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Watches one direction of the wire and fails the test when a rule of the protocol is broken by either end. Knows
 * nothing of the implementation: it sees what is written and the messages, in the order of the wire. Here "sender" is
 * the end that sends data in this direction; the chunks and credits for it come the other way.
 */
final class WireRules {
    private static final int NO_DATA = -1;

    /** A piece of memory lent to the sender. */
    private static final class Chunk {
        private long address;
        private int room;
    }

    private final String name;
    private final long tableAddress;
    private final long offerAddress;
    private final boolean offersAllowed;
    /** Where the sender tells of maps, and up to where. */
    private final long mapsAddress;
    private final long mapsEnd;
    /** Memory of the sender that it has told the receiver to write to; null for none. */
    private Chunk mapped;
    private boolean mapWritten;
    private final Chunk[] entries;
    private final Deque<Chunk> order = new ArrayDeque<>();
    /** Written into the sender's memory for all other chunks; null if there is none. */
    private Chunk offered;
    private boolean offerTold;
    private int moves;
    private int nextEntry = 1;
    private long limit;
    private long sent;
    private long bytes;
    private int written = NO_DATA;
    private boolean shutDown;
    private boolean disconnected;

    /**
     * One direction.
     *
     * @param name for messages
     * @param sender the private data of the sender of data: where its table is
     * @param receiver the private data of the receiver of data: first chunk and credits
     */
    WireRules(String name, ConnectData sender, ConnectData receiver) {
        this.name = name;
        this.tableAddress = sender.tableAddress();
        this.offerAddress = sender.chunkAddress() - RemoteTargetTable.ENTRY_BYTES;
        this.offersAllowed = sender.movesOn() && receiver.movesOn();
        this.mapsAddress = receiver.tableAddress() + (long) receiver.tableEntries() * RemoteTargetTable.ENTRY_BYTES;
        this.mapsEnd = mapsAddress + (long) receiver.maps() * MapTable.ENTRY_BYTES;
        this.entries = new Chunk[sender.tableEntries()];
        this.limit = receiver.credits();
        lend(0, receiver.chunkAddress(), receiver.chunkBytes());
    }

    private void require(boolean condition, String rule) {
        if (!condition) {
            throw new AssertionError(name + ": " + rule + " (" + this + ")");
        }
    }

    private static Chunk chunk(long address, int length) {
        Chunk chunk = new Chunk();
        chunk.address = address;
        chunk.room = length;
        return chunk;
    }

    private void lend(int entry, long address, int length) {
        require(entries[entry] == null || entries[entry].room == 0, "entry " + entry + " rewritten while in use");
        require(length > 0, "chunk of " + length + " bytes");
        Chunk chunk = chunk(address, length);
        entries[entry] = chunk;
        order.add(chunk);
    }

    /** The receiver of data writes into the sender's table; returns false if the address is elsewhere. */
    boolean tableWritten(long address, byte[] data) {
        if (address == offerAddress && offersAllowed) {
            require(offered == null, "a second offer before the first was taken");
            require(data.length == RemoteTargetTable.ENTRY_BYTES, "offer of " + data.length + " bytes");
            MemorySegment entry = MemorySegment.ofArray(data);
            offered = chunk(entry.get(ValueLayout.JAVA_LONG_UNALIGNED, 0),
                    entry.get(ValueLayout.JAVA_INT_UNALIGNED, 12));
            return true;
        }
        long offset = address - tableAddress;
        if (offset < 0 || offset >= (long) entries.length * RemoteTargetTable.ENTRY_BYTES) {
            return false;
        }
        require(offered == null, "a chunk before the answer to an offer");
        require(offset == (long) nextEntry * RemoteTargetTable.ENTRY_BYTES,
                "entry at " + offset + ", not " + nextEntry);
        require(data.length == RemoteTargetTable.ENTRY_BYTES, "entry of " + data.length + " bytes");
        MemorySegment entry = MemorySegment.ofArray(data);
        lend(nextEntry, entry.get(ValueLayout.JAVA_LONG_UNALIGNED, 0), entry.get(ValueLayout.JAVA_INT_UNALIGNED, 12));
        nextEntry = (nextEntry + 1) % entries.length;
        return true;
    }

    /** The sender tells where the receiver may write; returns false if the address is elsewhere. */
    boolean mapWritten(long address, byte[] data) {
        if (address < mapsAddress || address >= mapsEnd) {
            return false;
        }
        require((address - mapsAddress) % MapTable.ENTRY_BYTES == 0 && data.length == MapTable.ENTRY_BYTES,
                "a map of " + data.length + " bytes at " + (address - mapsAddress));
        MemorySegment entry = MemorySegment.ofArray(data);
        mapped = chunk(entry.get(ValueLayout.JAVA_LONG_UNALIGNED, 8), entry.get(ValueLayout.JAVA_INT_UNALIGNED, 20));
        mapWritten = true;
        return true;
    }

    /** Whether the sender has told the receiver that it may write there. */
    boolean isMapped(long address, int length) {
        return mapped != null && address >= mapped.address && address + length <= mapped.address + mapped.room;
    }

    /** The sender writes data. */
    void dataWritten(long address, int length) {
        require(written == NO_DATA, "two writes for one message");
        require(!shutDown, "data after SHUTDOWN or DISCONNECT");
        Chunk chunk = order.peek();
        require(chunk != null, "data without a chunk");
        require(address == chunk.address, "data at another place than the chunk's next");
        require(length <= chunk.room, length + " bytes where " + chunk.room + " fit");
        chunk.address += length;
        chunk.room -= length;
        if (chunk.room == 0) {
            order.remove();
        }
        written = length;
        bytes += length;
    }

    /** A message from the sender of data. */
    void messageFromSender(int message) {
        // C may still renew credits after its DISCONNECT.
        require(!disconnected || message >>> 29 == 4, "a message after DISCONNECT");
        int argument = message & (1 << 29) - 1;
        switch (message >>> 29) {
            case 0 -> {
                require(argument == written, "message tells " + argument + " bytes, written were " + written);
                sent++;
                require(sent <= limit, "data message " + sent + " beyond limit " + limit);
                written = NO_DATA;
            }
            case 7 -> {
                require(argument == 0 || argument == 2 || argument == 14
                        || offersAllowed && (argument == 8 || argument == 9), "control " + argument);
                shutDown |= argument == 0 || argument == 2;
                disconnected |= argument == 0;
                if (argument == 9) {
                    move();
                }
            }
            case 6 -> {
                require(mapWritten, "a message of a map that was not written");
                mapWritten = false;
                sent++;
                require(sent <= limit, "map message " + sent + " beyond limit " + limit);
            }
            case 4 -> require(argument < 1 << 17, "limit " + argument);
            default -> require(false, "operation " + (message >>> 29));
        }
    }

    /** The sender lets go of all chunks and goes on with the one that was offered. */
    private void move() {
        require(offerTold, "a move without an offer");
        order.forEach(chunk -> chunk.room = 0);
        order.clear();
        order.add(offered);
        offered = null;
        offerTold = false;
        moves++;
    }

    /** How often the sender moved to an offered chunk. */
    int moves() {
        return moves;
    }

    /** A message from the receiver of data: limits and offers. */
    void messageFromReceiver(int message) {
        if (message == (7 << 29 | 8)) {
            require(offered != null && !offerTold, "an offer without a chunk");
            offerTold = true;
        }
        if (message >>> 29 == 4) {
            long step = message - limit & 0xFFFF;
            require(limit + step <= sent + 65534, "limit goes backwards to " + (message & 0xFFFF));
            limit += step;
        }
    }

    long bytes() {
        return bytes;
    }

    @Override
    public String toString() {
        return "sent=" + sent + " limit=" + limit + " bytes=" + bytes + " chunks=" + order.size();
    }
}
