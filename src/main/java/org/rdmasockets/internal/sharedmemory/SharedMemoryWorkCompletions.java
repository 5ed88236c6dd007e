package org.rdmasockets.internal.sharedmemory;

import java.util.Objects;
import org.rdmasockets.internal.lock.Padded;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.WorkCompletions;

/** A batch of completions, also the entries of a completion queue. */
final class SharedMemoryWorkCompletions extends Padded implements WorkCompletions {
    private static final CompletionOpcode[] OPCODES = CompletionOpcode.values();
    /** An entry is so many words, as a power of two: no more than half a line of memory, which others may have. */
    private static final int SHIFT = 2;
    private static final int MOST = 1 << 24;
    /** The words: the request; length and, above, immediate data; queue pair, and above source; the rest. */
    private static final int LENGTH = 1;
    private static final int NUMBER = 2;
    private static final int STATUS = 3;
    /** The last word has the opcode's ordinal in a byte, this, and above the status. */
    private static final int WITH_IMMEDIATE = 0x100;
    private static final int STATUS_SHIFT = 16;
    private static final long LOWER = 0xFFFF_FFFFL;

    private final long[] words;
    /** The thread that puts completions in right now, from the first on; only that thread finds itself here. */
    private Thread filler;
    /** How many it has put in. */
    private int filled;

    /** Room for at least 1 completion. */
    SharedMemoryWorkCompletions(int capacity) {
        if (capacity < 1 || capacity > MOST) {
            throw new IllegalArgumentException("a batch has room for 1 to " + MOST + " completions, not " + capacity);
        }
        words = new long[capacity << SHIFT];
    }

    /** Lets the calling thread put completions in, until {@link #endFilling}. */
    void beginFilling() {
        filled = 0;
        filler = Thread.currentThread();
    }

    /** Ends that. */
    void endFilling() {
        filler = null;
    }

    /** How many completions were put in. */
    int filled() {
        return filled;
    }

    /** The index of the next entry if the calling thread puts completions in and there is room, else -1. */
    int next() {
        return filler == Thread.currentThread() && filled < capacity() ? filled++ : -1;
    }

    /** Fills an entry; the parts that a receive has beside are zero until {@link #setReceived}. */
    void set(int index, int number, long id, int status, CompletionOpcode opcode) {
        int at = index << SHIFT;
        words[at] = id;
        words[at + LENGTH] = 0;
        words[at + NUMBER] = number & LOWER;
        words[at + STATUS] = (long) status << STATUS_SHIFT | opcode.ordinal();
    }

    /** Adds what only datagrams have. */
    void setSource(int index, int queuePairNumber) {
        int at = (index << SHIFT) + NUMBER;
        words[at] = words[at] & LOWER | (long) queuePairNumber << Integer.SIZE;
    }

    /** Adds what only receives have. */
    void setReceived(int index, int length, boolean hasImmediate, int immediate) {
        int at = index << SHIFT;
        words[at + LENGTH] = length & LOWER | (long) immediate << Integer.SIZE;
        if (hasImmediate) {
            words[at + STATUS] |= WITH_IMMEDIATE;
        }
    }

    /** Copies an entry of another batch. */
    void copy(int index, SharedMemoryWorkCompletions from, int fromIndex) {
        int at = index << SHIFT;
        int fromAt = fromIndex << SHIFT;
        for (int i = 0; i < 1 << SHIFT; i++) {
            words[at + i] = from.words[fromAt + i];
        }
    }

    @Override
    public int capacity() {
        return words.length >> SHIFT;
    }

    @Override
    public long workRequestId(int index) {
        return words[index << SHIFT];
    }

    @Override
    public int status(int index) {
        return (int) (words[(index << SHIFT) + STATUS] >> STATUS_SHIFT);
    }

    @Override
    public CompletionOpcode opcode(int index) {
        return OPCODES[(int) words[(index << SHIFT) + STATUS] & WITH_IMMEDIATE - 1];
    }

    @Override
    public int lengthBytes(int index) {
        return (int) words[(index << SHIFT) + LENGTH];
    }

    @Override
    public boolean hasImmediate(int index) {
        return (words[(index << SHIFT) + STATUS] & WITH_IMMEDIATE) != 0;
    }

    @Override
    public int immediate(int index) {
        return (int) (words[(index << SHIFT) + LENGTH] >>> Integer.SIZE);
    }

    @Override
    public int queuePairNumber(int index) {
        return (int) words[(index << SHIFT) + NUMBER];
    }

    @Override
    public int sourceQueuePairNumber(int index) {
        return (int) (words[(index << SHIFT) + NUMBER] >>> Integer.SIZE);
    }

    /** Numbers of queue pairs are not 0. */
    @Override
    public boolean hasRoutingHeader(int index) {
        return sourceQueuePairNumber(index) != 0;
    }

    /** There is no vendor: 0. */
    @Override
    public int vendorError(int index) {
        Objects.checkIndex(index, capacity());
        return 0;
    }
}
