package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;
import org.rdmasockets.verbs.VerbsException;

/** Some of the machine's processors, by their numbers, which are not changed any more. */
record ProcessorList(BitSet numbers) {
    /** More than any kernel is built for. */
    private static final int MOST = 1 << 16;

    /**
     * Reads a list such as {@code 0-7,16-23}, or an empty one, as the kernel writes it ({@code
     * Documentation/admin-guide/cputopology.rst}); throws {@code IllegalArgumentException} for something else.
     */
    static ProcessorList parse(String text) {
        BitSet numbers = new BitSet();
        for (String range : text.isBlank() ? new String[0] : text.strip().split(",")) {
            String[] ends = range.split("-", 2);
            int first = number(ends[0], text);
            int last = number(ends[ends.length - 1], text);
            if (last < first) {
                throw new IllegalArgumentException("no list of processors: " + text);
            }
            numbers.set(first, last + 1);
        }
        return new ProcessorList(numbers);
    }

    private static int number(String digits, String text) {
        try {
            int number = Integer.parseInt(digits);
            if (number >= 0 && number < MOST) {
                return number;
            }
        } catch (NumberFormatException e) {
            // reported below, as numbers out of range are
        }
        throw new IllegalArgumentException("no list of processors: " + text);
    }

    /** These and others. */
    ProcessorList with(ProcessorList others) {
        BitSet all = (BitSet) numbers.clone();
        all.or(others.numbers);
        return new ProcessorList(all);
    }

    /**
     * Lets the calling thread run on these only ({@code sched_setaffinity}), and gives them as text. Where a container
     * allows fewer, those. Throws if this process may use none of them.
     */
    String keepThisThread() throws VerbsException {
        long[] words = numbers.toLongArray(); // as cpu_set_t has them
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment mask = arena.allocateFrom(ValueLayout.JAVA_LONG, words);
            ControlCall.SCHED_SETAFFINITY.check("processors=" + this, 0, mask.byteSize(), mask);
        }
        return toString();
    }

    /** As the kernel writes it. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int first = numbers.nextSetBit(0); first >= 0; first = numbers.nextSetBit(numbers.nextClearBit(first))) {
            int last = numbers.nextClearBit(first) - 1;
            text.append(text.isEmpty() ? "" : ",").append(first).append(last > first ? "-" + last : "");
        }
        return text.toString();
    }
}
