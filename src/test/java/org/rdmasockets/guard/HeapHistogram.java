package org.rdmasockets.guard;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The reachable objects on the heap, class by class, as {@code jcmd GC.class_histogram} counts them: exact, unlike the
 * heap's usage after a collection. It is small itself, but for the names of classes that were never seen before: so
 * count once before the first count that matters. Not for several threads at once.
 */
public final class HeapHistogram {
    private static final Pattern LINE = Pattern.compile("\\s*\\d+:\\s+(\\d+)\\s+(\\d+)\\s+(\\S+).*");
    private static final int FIRST_CLASSES = 4096;
    private static final List<String> FILLERS = List.of("[Ljdk.internal.vm.FillerElement;",
            "jdk.internal.vm.FillerObject");
    /** The JVM's names of classes, and where they are in each histogram. */
    private static final Map<String, Integer> NUMBERS = new HashMap<>();

    /** Objects by number of their class; the arrays may end before the last number. */
    private int[] counts = new int[FIRST_CLASSES];
    private long[] bytes = new long[FIRST_CLASSES];

    private HeapHistogram() {
    }

    /**
     * Counts, after a full collection.
     *
     * @return the objects that are there now
     */
    public static HeapHistogram now() {
        try {
            // Only the objects that the first collection finds unreachable may have led to some others.
            System.gc();
            String text = (String) ManagementFactory.getPlatformMBeanServer().invoke(
                    new ObjectName("com.sun.management:type=DiagnosticCommand"), "gcClassHistogram",
                    new Object[] {new String[0]}, new String[] {String[].class.getName()});
            HeapHistogram histogram = new HeapHistogram();
            text.lines().map(LINE::matcher).filter(Matcher::matches).forEach(line -> histogram.add(
                    NUMBERS.computeIfAbsent(line.group(3), name -> NUMBERS.size()), Integer.parseInt(line.group(1)),
                    Long.parseLong(line.group(2))));
            // No longer than need be: it is on the heap when the next one counts.
            histogram.counts = Arrays.copyOf(histogram.counts, NUMBERS.size());
            histogram.bytes = Arrays.copyOf(histogram.bytes, NUMBERS.size());
            return histogram;
        } catch (JMException e) {
            throw new IllegalStateException("this JVM does not count its objects", e);
        }
    }

    private void add(int number, int objects, long size) {
        if (number >= counts.length) {
            counts = Arrays.copyOf(counts, 2 * number);
            bytes = Arrays.copyOf(bytes, 2 * number);
        }
        counts[number] += objects;
        bytes[number] += size;
    }

    /**
     * The objects that have come since.
     *
     * @param before an earlier count
     * @return this one without that one; objects that have gone count as negative
     */
    public HeapHistogram since(HeapHistogram before) {
        HeapHistogram difference = new HeapHistogram();
        for (int i = 0; i < counts.length; i++) {
            difference.add(i, counts[i], bytes[i]);
        }
        for (int i = 0; i < before.counts.length; i++) {
            difference.add(i, -before.counts[i], -before.bytes[i]);
        }
        return difference;
    }

    /**
     * All objects together, without those that fill gaps of the heap.
     *
     * @return bytes
     */
    public long bytes() {
        return Arrays.stream(bytes).sum() - FILLERS.stream().mapToLong(this::bytes).sum();
    }

    /**
     * The objects of one class.
     *
     * @param name the JVM's name of it
     * @return bytes
     */
    public long bytes(String name) {
        Integer number = NUMBERS.get(name);
        return number == null || number >= bytes.length ? 0 : bytes[number];
    }

    /**
     * The bytes of each class, the largest first.
     *
     * @param parts how many equal things were made
     * @return a line for each class of which each thing has some: bytes and objects for one thing, and the name
     */
    public String perPart(int parts) {
        return NUMBERS.entrySet().stream().filter(e -> e.getValue() < bytes.length && bytes[e.getValue()] >= parts)
                .sorted((a, b) -> Long.compare(bytes[b.getValue()], bytes[a.getValue()]))
                .map(e -> "%7.1f B %6.2f x %s%n".formatted((double) bytes[e.getValue()] / parts,
                        (double) counts[e.getValue()] / parts, e.getKey()))
                .collect(Collectors.joining());
    }
}
