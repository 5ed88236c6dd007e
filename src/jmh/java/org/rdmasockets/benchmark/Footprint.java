package org.rdmasockets.benchmark;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The resources that a process holds at one moment.
 *
 * @param heapBytes live objects, after a collection
 * @param residentBytes memory of the process
 * @param lockedBytes memory that is pinned for devices
 * @param segments shared memory of RdmaSocket that is mapped here: bytes by i-node, since both processes map some
 * @param libraryThreads platform threads of RdmaSocket
 */
record Footprint(long heapBytes, long residentBytes, long lockedBytes, Map<Long, Long> segments, int libraryThreads) {
    /** A line of maps: addresses, rights, offset, device, i-node, name. */
    private static final Pattern SEGMENT = Pattern.compile(
            "([0-9a-f]+)-([0-9a-f]+) \\S+ \\S+ \\S+ (\\d+) +/memfd:rdma-sockets.*");
    /** The second collection frees the objects that the references of the first one let go. */
    private static final int COLLECTIONS = 3;

    /** Of this process. */
    static Footprint now() throws IOException {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        int threads = (int) Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("rdma-")).count();
        return new Footprint(heap, statusBytes("VmRSS"), statusBytes("VmPin"), segmentsMapped(), threads);
    }

    private static long statusBytes(String name) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            return lines.filter(line -> line.startsWith(name + ":")).mapToLong(
                    line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024).sum();
        }
    }

    private static Map<Long, Long> segmentsMapped() throws IOException {
        Map<Long, Long> segments = new HashMap<>();
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            lines.map(SEGMENT::matcher).filter(Matcher::matches).forEach(line -> segments.merge(
                    Long.parseLong(line.group(3)),
                    Long.parseUnsignedLong(line.group(2), 16) - Long.parseUnsignedLong(line.group(1), 16), Math::max));
        }
        return segments;
    }

    /** The shared memory of both processes together, each segment once. */
    static long segmentBytes(Footprint one, Footprint other) {
        Map<Long, Long> all = new HashMap<>(one.segments);
        other.segments.forEach((node, bytes) -> all.merge(node, bytes, Math::max));
        return all.values().stream().mapToLong(Long::longValue).sum();
    }
}
