package org.rdmasockets;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What this process holds at one moment.
 *
 * @param descriptors open file descriptors
 * @param libraryThreads platform threads of the library
 * @param ofConnections objects in the kernel that connections have, by the name that {@code rdma resource} gives them
 */
record ResourceCount(long descriptors, long libraryThreads, Map<String, Long> ofConnections) {
    /** Completion queues are not among them: they are shared and stay. */
    private static final List<String> KINDS = List.of("qp", "mr", "pd", "cm_id");

    static ResourceCount now(String device) throws IOException {
        Map<String, Long> ofConnections = new TreeMap<>();
        for (String kind : KINDS) {
            ofConnections.put(kind, countObjects(kind, device));
        }
        return new ResourceCount(openDescriptors(), countLibraryThreads(), ofConnections);
    }

    private static long openDescriptors() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.count();
        }
    }

    private static long countLibraryThreads() {
        return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("rdma-")).count();
    }

    /** Counts lines such as {@code link rxe0/1 lqpn 17 type RC state RTS pdn 4 pid 812 comm java}. */
    private static long countObjects(String kind, String device) throws IOException {
        Process rdma = new ProcessBuilder("rdma", "resource", "show", kind).redirectErrorStream(true).start();
        Pattern ours = Pattern.compile(
                "(link|dev) " + Pattern.quote(device) + "[/ ].* pid " + ProcessHandle.current().pid() + " .*");
        try (Stream<String> lines = rdma.inputReader().lines()) {
            return lines.filter(line -> ours.matcher(line.strip()).matches()).count();
        }
    }
}
