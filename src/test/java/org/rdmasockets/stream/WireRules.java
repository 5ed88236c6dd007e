package org.rdmasockets.stream;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Watches one direction of the wire and fails the test when a rule of the protocol is broken, whoever breaks it. Knows
 * nothing of the implementation: it sees what is written and the messages, in the order of the wire. Here "sender" is
 * who sends data in this direction; the chunks and credits for it come the other way.
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
    private final Chunk[] entries;
    private final Deque<Chunk> order = new ArrayDeque<>();
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
     * @param sender what the sender of data announced: where its table is
     * @param receiver what the receiver of data announced: first chunk and credits
     */
    WireRules(String name, ConnectData sender, ConnectData receiver) {
        this.name = name;
        this.tableAddress = sender.tableAddress();
        this.entries = new Chunk[sender.tableEntries()];
        this.limit = receiver.credits();
        lend(0, receiver.chunkAddress(), receiver.chunkBytes());
    }

    private void require(boolean condition, String rule) {
        if (!condition) {
            throw new AssertionError(name + ": " + rule + " (" + this + ")");
        }
    }

    private void lend(int entry, long address, int length) {
        require(entries[entry] == null || entries[entry].room == 0, "entry " + entry + " rewritten while in use");
        require(length > 0, "chunk of " + length + " bytes");
        Chunk chunk = new Chunk();
        chunk.address = address;
        chunk.room = length;
        entries[entry] = chunk;
        order.add(chunk);
    }

    /** The receiver of data writes into the sender's table; returns false if the address is elsewhere. */
    boolean tableWritten(long address, byte[] data) {
        long offset = address - tableAddress;
        if (offset < 0 || offset >= (long) entries.length * TargetTable.ENTRY_BYTES) {
            return false;
        }
        require(offset == (long) nextEntry * TargetTable.ENTRY_BYTES, "entry at " + offset + ", not " + nextEntry);
        require(data.length == TargetTable.ENTRY_BYTES, "entry of " + data.length + " bytes");
        MemorySegment entry = MemorySegment.ofArray(data);
        lend(nextEntry, entry.get(ValueLayout.JAVA_LONG_UNALIGNED, 0), entry.get(ValueLayout.JAVA_INT_UNALIGNED, 12));
        nextEntry = (nextEntry + 1) % entries.length;
        return true;
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
                require(argument == 0 || argument == 2, "control " + argument);
                shutDown = true;
                disconnected = argument == 0;
            }
            case 4 -> require(argument < 1 << 17, "limit " + argument);
            default -> require(false, "operation " + (message >>> 29));
        }
    }

    /** A message from the receiver of data: here only limits matter. */
    void messageFromReceiver(int message) {
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
