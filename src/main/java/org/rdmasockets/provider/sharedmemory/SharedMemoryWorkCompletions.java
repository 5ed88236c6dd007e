package org.rdmasockets.provider.sharedmemory;

import java.util.Objects;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.WorkCompletions;

/** A batch of completions as arrays, which also are the entries of a completion queue. */
final class SharedMemoryWorkCompletions implements WorkCompletions {
    private static final CompletionOpcode[] OPCODES = CompletionOpcode.values();
    private static final byte WITH_IMMEDIATE = (byte) 0x80;

    private final long[] ids;
    private final int[] lengths;
    private final int[] immediates;
    private final int[] numbers;
    /** Who sent a datagram, 0 where there is none; null until there is one. */
    private int[] sources;
    private final byte[] statuses;
    /** Ordinal of the opcode, with {@link #WITH_IMMEDIATE}. */
    private final byte[] opcodes;

    /**
     * Room for completions.
     *
     * @param capacity how many, at least 1
     */
    SharedMemoryWorkCompletions(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("a batch needs room for at least one completion, not " + capacity);
        }
        ids = new long[capacity];
        lengths = new int[capacity];
        immediates = new int[capacity];
        numbers = new int[capacity];
        statuses = new byte[capacity];
        opcodes = new byte[capacity];
    }

    /** Fills an entry; the parts that a receive has beside are zero until {@link #setReceived}. */
    void set(int index, int number, long id, int status, CompletionOpcode opcode) {
        ids[index] = id;
        lengths[index] = 0;
        immediates[index] = 0;
        numbers[index] = number;
        statuses[index] = (byte) status;
        opcodes[index] = (byte) opcode.ordinal();
        if (sources != null) {
            sources[index] = 0;
        }
    }

    /** Adds what only datagrams have. */
    void setSource(int index, int queuePairNumber) {
        if (sources == null) {
            sources = new int[ids.length];
        }
        sources[index] = queuePairNumber;
    }

    /** Adds what only receives have. */
    void setReceived(int index, int length, boolean hasImmediate, int immediate) {
        lengths[index] = length;
        immediates[index] = immediate;
        if (hasImmediate) {
            opcodes[index] |= WITH_IMMEDIATE;
        }
    }

    /** Copies an entry of another batch. */
    void copy(int index, SharedMemoryWorkCompletions from, int fromIndex) {
        ids[index] = from.ids[fromIndex];
        lengths[index] = from.lengths[fromIndex];
        immediates[index] = from.immediates[fromIndex];
        numbers[index] = from.numbers[fromIndex];
        statuses[index] = from.statuses[fromIndex];
        opcodes[index] = from.opcodes[fromIndex];
        if (sources != null || from.sources != null) {
            setSource(index, from.sourceQueuePairNumber(fromIndex));
        }
    }

    @Override
    public int capacity() {
        return ids.length;
    }

    @Override
    public long workRequestId(int index) {
        return ids[index];
    }

    @Override
    public int status(int index) {
        return statuses[index];
    }

    @Override
    public CompletionOpcode opcode(int index) {
        return OPCODES[opcodes[index] & ~WITH_IMMEDIATE];
    }

    @Override
    public int lengthBytes(int index) {
        return lengths[index];
    }

    @Override
    public boolean hasImmediate(int index) {
        return (opcodes[index] & WITH_IMMEDIATE) != 0;
    }

    @Override
    public int immediate(int index) {
        return immediates[index];
    }

    @Override
    public int queuePairNumber(int index) {
        return numbers[index];
    }

    @Override
    public int sourceQueuePairNumber(int index) {
        Objects.checkIndex(index, ids.length);
        return sources == null ? 0 : sources[index];
    }

    /** Numbers of queue pairs are not 0. */
    @Override
    public boolean hasRoutingHeader(int index) {
        return sourceQueuePairNumber(index) != 0;
    }

    /** There is no vendor: 0. */
    @Override
    public int vendorError(int index) {
        Objects.checkIndex(index, ids.length);
        return 0;
    }
}
