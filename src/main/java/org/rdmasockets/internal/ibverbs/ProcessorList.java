package org.rdmasockets.internal.ibverbs;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.rdmasockets.verbs.Errno;
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
        try {
            for (String range : text.isBlank() ? new String[0] : text.strip().split(",")) {
                String[] ends = range.split("-", 2);
                int first = Integer.parseInt(ends[0]);
                int last = Integer.parseInt(ends[ends.length - 1]);
                Objects.checkFromToIndex(first, last, MOST - 1);
                numbers.set(first, last + 1);
            }
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            throw new IllegalArgumentException("no list of processors: " + text);
        }
        return new ProcessorList(numbers);
    }

    /**
     * The processors of the NUMA nodes that devices are on, at least one, as the kernel tells in {@code /sys}, the
     * root; a device that is on no node does not count. Throws if no device is on a node with processors, with the
     * reason for each.
     */
    static ProcessorList near(Set<String> devices, Path root) throws VerbsException {
        BitSet near = new BitSet();
        List<String> reasons = new ArrayList<>();
        for (String device : devices) {
            try {
                near.or(near(device, root).numbers);
            } catch (IOException | IllegalArgumentException e) {
                reasons.add(device + ": " + e.getMessage());
            }
        }
        if (near.isEmpty()) {
            throw new VerbsException("sched_setaffinity", Errno.ENODEV.number(), "devices=" + devices,
                    String.join("; ", reasons));
        }
        return new ProcessorList(near);
    }

    private static ProcessorList near(String device, Path root) throws IOException {
        Path place = root.resolve("class/infiniband").resolve(device).resolve("device/numa_node");
        if (!Files.exists(place)) {
            throw new IOException("it is on no bus, as software devices are not");
        }
        int node = Integer.parseInt(Files.readString(place).strip());
        if (node < 0) {
            throw new IOException("the machine has only one NUMA node, or does not tell on which the device is");
        }
        ProcessorList list = parse(Files.readString(root.resolve("devices/system/node/node" + node)
                .resolve("cpulist")));
        if (list.numbers.isEmpty()) {
            throw new IOException("its NUMA node " + node + " has no processors");
        }
        return list;
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
