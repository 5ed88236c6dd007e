package org.rdmasockets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * How fast two processes of one host reach each other: a virtual thread in each, over {@code RdmaSocket} on shared
 * memory and over {@code java.net.Socket} on the loopback address, in turn. Median of the round trips of 64 bytes, and
 * bytes per second of writes of 64 KiB, both the median of several rounds; each round starts two new JVMs. See
 * {@code src/jmh/run}.
 */
final class SameHost {
    private static final int SMALL_BYTES = 64;
    private static final int LARGE_BYTES = 64 * 1024;
    private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long MEASURED_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final int MAX_ROUND_TRIPS = 8_000_000;
    private static final long PROCESS_SECONDS = 60;

    private SameHost() {
    }

    /**
     * Measures and prints a table; as {@code server} or {@code client} it is one of the two processes.
     *
     * @param arguments how many rounds, 5 unless told otherwise; or {@code server KIND}, {@code client KIND PORT}
     */
    static void main(String[] arguments) throws Exception {
        switch (arguments.length > 0 ? arguments[0] : "") {
            case "server" -> inVirtualThread(() -> serve(arguments[1]));
            case "client" -> inVirtualThread(() -> dial(arguments[1], Integer.parseInt(arguments[2])));
            default -> compare(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 5);
        }
    }

    /** Work that may fail. */
    @FunctionalInterface
    private interface Work {
        void run() throws IOException;
    }

    private static void inVirtualThread(Work work) throws InterruptedException {
        Throwable[] failure = new Throwable[1];
        Thread.ofVirtual().start(() -> {
            try {
                work.run();
            } catch (IOException | RuntimeException e) {
                failure[0] = e;
            }
        }).join();
        if (failure[0] != null) {
            failure[0].printStackTrace();
            System.exit(1);
        }
    }

    // The parent.

    private static void compare(int rounds) throws IOException, InterruptedException {
        double[][] rdma = new double[2][rounds];
        double[][] plain = new double[2][rounds];
        for (int round = 0; round < rounds; round++) {
            measure("java.net.Socket", plain, round);
            measure("RdmaSocket", rdma, round);
        }
        System.out.printf("%n%-34s %16s %12s %10s%n", "two processes, virtual threads", "java.net.Socket", "RdmaSocket",
                "ratio");
        print("round trip of 64 B, us", median(plain[0]), median(rdma[0]));
        print("writes of 64 KiB one way, MB/s", median(plain[1]), median(rdma[1]));
    }

    private static void print(String what, double plain, double rdma) {
        System.out.printf("%-34s %16.2f %12.2f %10.3f%n", what, plain, rdma, rdma / plain);
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static void measure(String kind, double[][] into, int round) throws IOException, InterruptedException {
        Process server = start("server", kind);
        try (BufferedReader lines = server.inputReader()) {
            Process client = start("client", kind, value(lines, "port"));
            try (BufferedReader results = client.inputReader()) {
                into[0][round] = Double.parseDouble(value(results, "micros"));
                into[1][round] = Double.parseDouble(value(results, "megabytes"));
            }
            System.out.printf("round %d, %s: %.2f us, %.0f MB/s%n", round + 1, kind, into[0][round], into[1][round]);
            end(client);
            end(server);
        } finally {
            server.destroyForcibly();
        }
    }

    private static Process start(String... arguments) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        ProcessBuilder builder = new ProcessBuilder(java, "--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", System.getProperty("java.class.path"),
                SameHost.class.getName());
        builder.command().addAll(List.of(arguments));
        return builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private static String value(BufferedReader lines, String name) throws IOException {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.startsWith(name + " ")) {
                return line.substring(name.length() + 1);
            }
        }
        throw new IOException("the process ended without its " + name);
    }

    private static void end(Process process) throws IOException, InterruptedException {
        if (!process.waitFor(PROCESS_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new IOException("a process failed");
        }
    }

    // The two processes.

    private static void serve(String kind) throws IOException {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (ServerSocket server = kind.equals("RdmaSocket") ? new RdmaServerSocket() : new ServerSocket()) {
            if (server instanceof RdmaServerSocket rdma) {
                rdma.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            }
            server.bind(any);
            System.out.println("port " + server.getLocalPort());
            try (Socket socket = server.accept()) {
                echo(socket);
            }
            try (Socket socket = server.accept()) {
                swallow(socket);
            }
        }
    }

    private static void dial(String kind, int port) throws IOException {
        InetSocketAddress server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        try (Socket socket = socket(kind)) {
            socket.connect(server);
            socket.setTcpNoDelay(true);
            roundTrips(socket, WARM_UP_NANOS);
            System.out.println("micros " + roundTrips(socket, MEASURED_NANOS) / 1_000.0);
        }
        try (Socket socket = socket(kind)) {
            socket.connect(server);
            write(socket, WARM_UP_NANOS);
            System.out.println("megabytes " + write(socket, MEASURED_NANOS));
        }
    }

    private static Socket socket(String kind) throws IOException {
        if (!kind.equals("RdmaSocket")) {
            return new Socket();
        }
        RdmaSocket socket = new RdmaSocket();
        socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        return socket;
    }

    private static void echo(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        InputStream in = socket.getInputStream();
        OutputStream out = socket.getOutputStream();
        byte[] message = new byte[SMALL_BYTES];
        while (in.readNBytes(message, 0, SMALL_BYTES) == SMALL_BYTES) {
            out.write(message);
        }
    }

    /** The median, in nanoseconds. */
    private static int roundTrips(Socket socket, long nanos) throws IOException {
        InputStream in = socket.getInputStream();
        OutputStream out = socket.getOutputStream();
        byte[] message = new byte[SMALL_BYTES];
        int[] times = new int[MAX_ROUND_TRIPS];
        int count = 0;
        long end = System.nanoTime() + nanos;
        for (long start = System.nanoTime(); start < end && count < MAX_ROUND_TRIPS; count++) {
            out.write(message);
            in.readNBytes(message, 0, SMALL_BYTES);
            long now = System.nanoTime();
            times[count] = (int) (now - start);
            start = now;
        }
        Arrays.sort(times, 0, count);
        return times[count / 2];
    }

    /** Takes everything, and answers each empty message, a single 1, with a byte. */
    private static void swallow(Socket socket) throws IOException {
        InputStream in = socket.getInputStream();
        byte[] buffer = new byte[LARGE_BYTES];
        for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
            if (buffer[read - 1] == 1) {
                socket.getOutputStream().write(1);
            }
        }
    }

    /** Megabytes per second, until the peer has read everything. */
    private static double write(Socket socket, long nanos) throws IOException {
        byte[] data = new byte[LARGE_BYTES];
        long start = System.nanoTime();
        long written = 0;
        while (System.nanoTime() - start < nanos) {
            socket.getOutputStream().write(data);
            written += data.length;
        }
        socket.getOutputStream().write(1);
        if (socket.getInputStream().read() != 1) {
            throw new IOException("the peer has not answered");
        }
        return written * 1_000.0 / (System.nanoTime() - start);
    }
}
