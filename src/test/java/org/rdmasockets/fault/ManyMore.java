package org.rdmasockets.fault;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.rdmasockets.interop.Program;

/**
 * Opens connections between two processes that have the limits of the system, echoes a byte over each, and says what
 * they take; or says how the first one too many was refused. See {@code src/test/sharedmemory}.
 */
final class ManyMore {
    private static final int CONNECTIONS = 20_000;
    private static final long WAIT_MILLIS = TimeUnit.MINUTES.toMillis(10);
    /** Every refusal says what to do. */
    private static final String REMEDY = ".*(raise|close some|more).*";

    private ManyMore() {
    }

    /**
     * Prints what was seen; the exit status is 0 if every connection answers, or the one too many is refused with its
     * remedy and the others answer.
     *
     * @param arguments how many connections; or what a child is to do
     */
    static void main(String[] arguments) throws Exception {
        String first = arguments.length > 0 ? arguments[0] : "" + CONNECTIONS;
        switch (first) {
            case "accept" -> accept(Integer.parseInt(arguments[1]));
            case "connect" -> connect(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
            default -> System.exit(run(first) ? 0 : 1);
        }
    }

    private static boolean run(String count) throws IOException, InterruptedException {
        System.out.println("vm.max_map_count " + Files.readAllLines(Path.of("/proc/sys/vm/max_map_count")).getFirst()
                + ", " + limit());
        List<String> options = List.of("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        try (Program accepting = Program.java(options, ManyMore.class.getName(), "accept", count);
                Program connecting = Program.java(options, ManyMore.class.getName(), "connect",
                        accepting.awaitLine("listening"), count)) {
            String end = connecting.awaitLine("end:", WAIT_MILLIS);
            System.out.println(end);
            System.out.println("where they were made: " + connecting.awaitLine("each:", WAIT_MILLIS));
            System.out.println("where they were accepted: " + accepting.awaitLine("each:", WAIT_MILLIS));
            return connecting.awaitEnd() == 0 && (!end.contains("refused") || end.matches(REMEDY));
        }
    }

    private static String limit() throws IOException {
        try (Stream<String> limits = Files.lines(Path.of("/proc/self/limits"))) {
            return limits.filter(line -> line.startsWith("Max open files")).findFirst().orElseThrow()
                    .replaceAll(" +", " ").strip();
        }
    }

    private static void accept(int count) throws Exception {
        long[] before = figures();
        try (ServerSocket server = Neighbours.listen(count)) {
            System.out.println("listening " + server.getLocalPort());
            Socket control = server.accept();
            Thread.ofVirtual().start(() -> {
                while (true) {
                    try {
                        Socket socket = server.accept();
                        Thread.ofVirtual().start(() -> echo(socket));
                    } catch (IOException e) {
                        return;
                    }
                }
            });
            int made = Integer.parseInt(new String(control.getInputStream().readNBytes(8)).strip());
            System.out.println("each: " + each(before, made));
            control.getOutputStream().write(1);
            control.getInputStream().read();
        }
    }

    private static void echo(Socket socket) {
        try (socket) {
            socket.getInputStream().transferTo(socket.getOutputStream());
        } catch (IOException e) {
            System.out.println("an echo ends: " + e);
        }
    }

    private static void connect(int port, int count) throws Exception {
        long start = System.nanoTime();
        Socket control = Neighbours.connect(port);
        long[] before = figures();
        List<Socket> sockets = new ArrayList<>(count);
        String refusal = "";
        try {
            while (sockets.size() < count) {
                sockets.add(Neighbours.connect(port));
            }
        } catch (IOException e) {
            refusal = "; the next is refused: " + e.getMessage();
        }
        long opened = System.nanoTime();
        for (Socket socket : sockets) {
            socket.getOutputStream().write(1);
            if (socket.getInputStream().read() != 1) {
                throw new IOException("a connection does not answer");
            }
        }
        System.out.printf(Locale.ROOT, "end: %d connections in %.1f s, an echo over each in %.1f s%s%n", sockets.size(),
                (opened - start) / 1e9, (System.nanoTime() - opened) / 1e9, refusal);
        System.out.println("each: " + each(before, sockets.size()));
        control.getOutputStream().write(String.format("%8d", sockets.size()).getBytes());
        control.getInputStream().read();
        System.exit(0);
    }

    private static String each(long[] before, int connections) throws IOException {
        long[] now = figures();
        return String.format(Locale.ROOT, "%.1f KiB resident, %.4f mappings, %.4f descriptors for each; %d MiB, %d "
                + "mappings and %d descriptors in all", (now[0] - before[0]) / (double) connections,
                (now[1] - before[1]) / (double) connections, (now[2] - before[2]) / (double) connections,
                now[0] >> 10, now[1], now[2]);
    }

    /** Resident memory in KiB, mappings and descriptors of this process. */
    private static long[] figures() throws IOException {
        try (Stream<String> status = Files.lines(Path.of("/proc/self/status"));
                Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            long resident = status.filter(line -> line.startsWith("VmRSS")).findFirst()
                    .map(line -> Long.parseLong(line.replaceAll("[^0-9]", ""))).orElseThrow();
            return new long[] {resident, maps.count(), new File("/proc/self/fd").list().length};
        }
    }
}
