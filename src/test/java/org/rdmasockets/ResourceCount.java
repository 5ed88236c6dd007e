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
 * The resources that this process, and the device for it, hold at one moment.
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

    /** The kernel's list of what programs hold, one object a line. */
    static String listing() throws IOException {
        StringBuilder text = new StringBuilder();
        for (String kind : KINDS) {
            Process rdma = new ProcessBuilder("rdma", "resource", "show", kind).redirectErrorStream(true).start();
            rdma.inputReader().lines().filter(line -> line.contains(" pid "))
                    .forEach(line -> text.append(System.lineSeparator()).append(kind).append(": ").append(line));
        }
        return text.toString();
    }

    private static long openDescriptors() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.count();
        }
    }

    private static long countLibraryThreads() {
        return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("rdma-")).count();
    }

    /**
     * Counts lines such as {@code link rxe0/1 lqpn 17 type RC state RTS pdn 4 pid 812 comm rdma-setup-1}. The number is
     * that of the thread that made the object, which may have ended: so all objects of programs count, and the test is
     * the only one that uses the device.
     */
    private static long countObjects(String kind, String device) throws IOException {
        Process rdma = new ProcessBuilder("rdma", "resource", "show", kind).redirectErrorStream(true).start();
        Pattern ofPrograms = Pattern.compile("(link|dev) " + Pattern.quote(device) + "[/ ].* pid .*");
        try (Stream<String> lines = rdma.inputReader().lines()) {
            return lines.filter(line -> ofPrograms.matcher(line.strip()).matches()).count();
        }
    }
}
