package org.rdmasockets.guard;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** A JVM that connects, makes a round trip and closes, again and again, and then says what that took. */
final class WarmConnectMain {
    private static final int MESSAGE_BYTES = 64;
    /** Connections that are open at once in the end. */
    private static final int OPEN = 100;
    private static final Path THREADS = Path.of("/proc/self/task");

    private WarmConnectMain() {
    }

    /**
     * Connects to the port of the first argument, as often as the second says; the first half is to get warm.
     */
    public static void main(String[] arguments) throws IOException {
        InetSocketAddress server = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"),
                Integer.parseInt(arguments[0]));
        int half = Integer.parseInt(arguments[1]) / 2;
        connect(server, half);
        long waits = waits("");
        long tasks = waits("rdma-setup");
        connect(server, half);
        System.out.println("waits " + (double) (waits("") - waits) / half);
        System.out.println("tasks " + (double) (waits("rdma-setup") - tasks) / half);
        long descriptors = count(Path.of("/proc/self/fd"));
        List<Socket> open = new ArrayList<>();
        for (int i = 0; i < OPEN; i++) {
            open.add(exchange(server));
        }
        System.out.println("descriptors " + (double) (count(Path.of("/proc/self/fd")) - descriptors) / open.size());
        System.exit(0);
    }

    private static void connect(InetSocketAddress server, int count) throws IOException {
        for (int i = 0; i < count; i++) {
            exchange(server).close();
        }
    }

    private static Socket exchange(InetSocketAddress server) throws IOException {
        Socket socket = new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        socket.connect(server);
        socket.getOutputStream().write(new byte[MESSAGE_BYTES]);
        if (socket.getInputStream().readNBytes(MESSAGE_BYTES).length != MESSAGE_BYTES) {
            throw new IOException("the server does not answer");
        }
        return socket;
    }

    private static long count(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.count();
        }
    }

    /** How often threads of the library and of its callers have waited in the kernel, if their names begin so. */
    private static long waits(String name) throws IOException {
        try (Stream<Path> threads = Files.list(THREADS)) {
            return threads.mapToLong(thread -> waitsOf(thread.resolve("status"), name)).sum();
        }
    }

    private static long waitsOf(Path status, String name) {
        boolean counts = false;
        try {
            for (String line : Files.readAllLines(status)) {
                String[] words = line.split("\\s+");
                if (words[0].equals("Name:")) {
                    counts = words[1].startsWith(name) && (words[1].startsWith("rdma-") || words[1].equals("java"));
                } else if (counts && words[0].equals("voluntary_ctxt_switches:")) {
                    return Long.parseLong(words[1]);
                }
            }
            return 0;
        } catch (IOException e) {
            if (Files.exists(status)) {
                throw new UncheckedIOException(e);
            }
            return 0; // it has ended
        }
    }
}
