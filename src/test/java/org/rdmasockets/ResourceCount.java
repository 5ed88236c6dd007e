package org.rdmasockets;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What the process and the device hold at one moment.
 *
 * @param descriptors open file descriptors of this process
 * @param libraryThreads platform threads of the library
 * @param kernelObjects what {@code rdma res} counts for the device: qp, mr, pd, cq, cm_id and so on
 */
record ResourceCount(long descriptors, long libraryThreads, Map<String, Integer> kernelObjects) {
    private static final Pattern COUNT = Pattern.compile("(\\w+) (\\d+)");

    static ResourceCount now(String device) throws IOException {
        return new ResourceCount(openDescriptors(), countLibraryThreads(), kernelObjectsOf(device));
    }

    /** Those of connections: completion queues are shared and stay. */
    Map<String, Integer> ofConnections() {
        Map<String, Integer> rest = new TreeMap<>(kernelObjects);
        rest.keySet().retainAll(Set.of("qp", "mr", "pd", "cm_id"));
        return rest;
    }

    private static long openDescriptors() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.count();
        }
    }

    private static long countLibraryThreads() {
        return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("rdma-")).count();
    }

    /** Asks {@code rdma res show}: {@code 0: rxe0: qp 1 cq 1 cm_id 0 mr 0 ctx 1 pd 1}. */
    private static Map<String, Integer> kernelObjectsOf(String device) throws IOException {
        Process rdma = new ProcessBuilder("rdma", "resource", "show", device).redirectErrorStream(true).start();
        String text = new String(rdma.getInputStream().readAllBytes());
        Map<String, Integer> counts = new TreeMap<>();
        Matcher matcher = COUNT.matcher(text.substring(text.indexOf(device) + device.length()));
        while (matcher.find()) {
            counts.put(matcher.group(1), Integer.valueOf(matcher.group(2)));
        }
        if (!counts.containsKey("qp")) {
            throw new IOException("rdma resource show " + device + ": " + text);
        }
        return counts;
    }
}
