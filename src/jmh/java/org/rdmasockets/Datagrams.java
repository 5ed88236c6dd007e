package org.rdmasockets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Datagrams on one host, within a process and between two, over shared memory and by {@code java.net} over UDP: what a
 * flood to a receiver that keeps reading loses and at which rate it goes, what a burst within the receive buffer loses,
 * a datagram there and back, and the first one of a new JVM. The two take turns, and each turn has new JVMs. See
 * {@code src/jmh/run}.
 */
final class Datagrams {
    private static final int ROUND_TRIPS = Integer.getInteger("datagrams.roundTrips", 20_000);
    private static final long FLOOD_NANOS = Long.getLong("datagrams.floodMillis", 1000) * 1_000_000;
    private static final int WARM_UPS = Integer.getInteger("datagrams.warmUps", 4);
    private static final int OVERHEAD_BYTES = 1024;
    private static final byte COUNTED = 0;
    private static final byte ANSWERED = 1;
    private static final byte LAST = 2;
    private static final List<String> KINDS = List.of("udp", "rdma");

    private Datagrams() {
    }

    /**
     * Measures and prints a page; as {@code client KIND PLACE} or {@code server KIND} it is one of the processes.
     *
     * @param arguments how many rounds, 5 unless told otherwise
     */
    static void main(String[] arguments) throws Exception {
        switch (arguments.length > 0 ? arguments[0] : "") {
            case "server" -> serve(arguments[1]);
            case "client" -> dial(arguments[1], arguments[2].equals("two"));
            case "first" -> first(arguments[1], Integer.parseInt(arguments[2]));
            default -> compare(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 5);
        }
        System.exit(0);
    }

    private static Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-Xmx512m",
                "-Ddatagrams.roundTrips=" + ROUND_TRIPS, "-Ddatagrams.warmUps=" + WARM_UPS,
                "-Ddatagrams.floodMillis=" + FLOOD_NANOS / 1_000_000, "-cp", System.getProperty("java.class.path"),
                Datagrams.class.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private static DatagramSocket socket(String kind) throws SocketException {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        return kind.equals("udp") ? new DatagramSocket(any) : new RdmaDatagramSocket(any);
    }

    // The parent.

    private static void compare(int rounds) throws IOException, InterruptedException {
        Map<String, Map<String, List<Double>>> all = new TreeMap<>();
        for (int round = 0; round < rounds; round++) {
            for (String place : List.of("one", "two")) {
                for (String kind : KINDS) {
                    Process client = start("client", kind, place);
                    try (BufferedReader lines = client.inputReader()) {
                        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                            String[] parts = line.split("\t");
                            all.computeIfAbsent(parts[0], key -> new TreeMap<>())
                                    .computeIfAbsent(kind, key -> new ArrayList<>()).add(Double.valueOf(parts[1]));
                        }
                    }
                    if (client.waitFor() != 0) {
                        throw new IOException(kind + " ended with status " + client.exitValue());
                    }
                }
            }
        }
        print(all, rounds);
    }

    /** Prints a page of the documentation. */
    private static void print(Map<String, Map<String, List<Double>>> all, int rounds) {
        System.out.printf("""
                # Datagrams on one host

                `RdmaDatagramSocket` over shared memory beside `java.net.DatagramSocket` over UDP on loopback, %d rounds
                in turn, new JVMs for each, %s, %d processors, Java %s, Linux %s. Each cell is the median, and the least
                and the greatest behind it. Made by `src/jmh/run datagrams`; compare within this page only.

                |  | UDP | shared memory | ratio of the medians |
                |---|---:|---:|---:|
                """, rounds, LocalDate.now(), Runtime.getRuntime().availableProcessors(),
                System.getProperty("java.version"), System.getProperty("os.version"));
        all.forEach((what, figures) -> {
            List<Double> udp = figures.get("udp");
            List<Double> rdma = figures.get("rdma");
            System.out.printf("| %s | %s | %s | %s |%n", what, range(udp), range(rdma),
                    median(udp) == 0 ? "" : "%.2f".formatted(median(rdma) / median(udp)));
        });
    }

    private static String range(List<Double> values) {
        double[] sorted = sorted(values);
        return "%,.2f (%,.2f to %,.2f)".formatted(median(values), sorted[0], sorted[sorted.length - 1]);
    }

    private static double[] sorted(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    }

    private static double median(List<Double> values) {
        return sorted(values)[values.size() / 2];
    }

    // The receiver.

    /** A thread that reads from a socket, counts, and answers what asks for that. */
    private static final class Receiver implements Runnable {
        private final DatagramSocket socket;
        private final AtomicLong counted = new AtomicLong();
        private final Semaphore goOn = new Semaphore(0);

        Receiver(DatagramSocket socket) {
            this.socket = socket;
        }

        @Override
        public void run() {
            DatagramPacket packet = new DatagramPacket(new byte[16_384], 16_384);
            try {
                while (true) {
                    packet.setLength(packet.getData().length);
                    socket.receive(packet);
                    switch (packet.getData()[0]) {
                        case ANSWERED -> socket.send(packet);
                        case LAST -> {
                            socket.send(packet);
                            goOn.acquire();
                        }
                        default -> counted.incrementAndGet();
                    }
                }
            } catch (IOException | InterruptedException e) {
                System.err.println(e);
            }
        }

        /** {@code count} gives how many came since the last time; {@code go} ends a pause. */
        long order(String order) {
            if (order.equals("go")) {
                goOn.release();
                return 0;
            }
            return counted.getAndSet(0);
        }
    }

    private static void serve(String kind) throws Exception {
        DatagramSocket socket = socket(kind);
        System.out.println(socket.getLocalPort());
        Receiver receiver = new Receiver(socket);
        Thread.ofPlatform().daemon().start(receiver);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            System.out.println(receiver.order(order));
        }
    }

    /** The receiver's orders, here or in another process. */
    private interface Orders {
        long give(String order) throws IOException;
    }

    // The sender.

    private static void dial(String kind, boolean two) throws Exception {
        if (!two) {
            DatagramSocket socket = socket(kind);
            Receiver receiver = new Receiver(socket);
            Thread.ofPlatform().daemon().start(receiver);
            new Turn(socket(kind), (InetSocketAddress) socket.getLocalSocketAddress(), receiver::order,
                    "within a process: ").measureAll();
            return;
        }
        Process process = start("server", kind);
        try (BufferedReader answers = process.inputReader();
                PrintStream orders = new PrintStream(process.getOutputStream(), true)) {
            int port = Integer.parseInt(answers.readLine());
            for (int i = 0; i < 2; i++) { // the first finds a server that has loaded nothing yet
                Process fresh = start("first", kind, "" + port);
                String[] lines = new String(fresh.getInputStream().readAllBytes(), StandardCharsets.UTF_8).split("\n");
                for (String line : lines) {
                    System.out.println("new JVM" + (i == 0 ? ", both" : ", warm server") + ": " + line);
                }
            }
            new Turn(socket(kind), new InetSocketAddress(InetAddress.getLoopbackAddress(), port), order -> {
                orders.println(order);
                return Long.parseLong(answers.readLine());
            }, "between two: ").measureAll();
        } finally {
            process.destroy();
        }
    }

    /** The first datagram of this process. */
    private static void first(String kind, int port) throws IOException {
        InetSocketAddress to = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        byte[] data = new byte[64];
        data[0] = ANSWERED;
        long begin = System.nanoTime();
        DatagramSocket socket = socket(kind);
        long made = System.nanoTime();
        DatagramPacket packet = new DatagramPacket(data, data.length, to);
        socket.send(packet);
        long sent = System.nanoTime();
        socket.receive(packet);
        long end = System.nanoTime();
        Turn.note("new socket, ms", (made - begin) / 1e6);
        Turn.note("first send, ms", (sent - made) / 1e6);
        Turn.note("socket to first answer, ms", (end - begin) / 1e6);
    }

    /** All that is measured. */
    private record Turn(DatagramSocket socket, InetSocketAddress to, Orders orders, String place) {
        private static void note(String what, double value) {
            System.out.println(what + "\t" + value);
        }

        private DatagramPacket packet(int bytes, byte kind) {
            byte[] data = new byte[bytes];
            data[0] = kind;
            return new DatagramPacket(data, bytes, to);
        }

        void measureAll() throws Exception {
            for (int bytes : new int[] {64, 1024, 8000}) {
                double micros = 0;
                for (int i = 0; i <= WARM_UPS; i++) {
                    micros = roundTrip(bytes);
                }
                note(place + bytes + " B there and back, us", micros);
            }
            for (int bytes : new int[] {64, 1024}) {
                for (int i = 0; i < WARM_UPS; i++) {
                    flood(bytes, false);
                }
                flood(bytes, true);
            }
            for (int bytes : new int[] {64, 1024}) {
                burst(bytes);
            }
        }

        private double roundTrip(int bytes) throws IOException {
            DatagramPacket packet = packet(bytes, ANSWERED);
            long[] times = new long[ROUND_TRIPS];
            for (int i = 0; i < ROUND_TRIPS; i++) {
                long begin = System.nanoTime();
                socket.send(packet);
                socket.receive(packet);
                times[i] = System.nanoTime() - begin;
            }
            Arrays.sort(times);
            return times[ROUND_TRIPS / 2] / 1000.0;
        }

        /** Waits until the receiver has nothing left, by its count. */
        private long counted() throws IOException, InterruptedException {
            long all = 0;
            for (int quiet = 0; quiet < 3;) {
                Thread.sleep(20);
                long more = orders.give("count");
                all += more;
                quiet = more == 0 ? quiet + 1 : 0;
            }
            return all;
        }

        private void flood(int bytes, boolean told) throws IOException, InterruptedException {
            DatagramPacket packet = packet(bytes, COUNTED);
            orders.give("count");
            long sent = 0;
            long begin = System.nanoTime();
            long now = begin;
            long worst = 0;
            while (now - begin < FLOOD_NANOS) {
                long before = now;
                for (int i = 0; i < 16; i++) {
                    socket.send(packet);
                }
                sent += 16;
                now = System.nanoTime();
                worst = Math.max(worst, now - before);
            }
            long got = counted();
            if (told) {
                note(place + "flood of " + bytes + " B: received in a second", got * 1e9 / (now - begin));
                note(place + "flood of " + bytes + " B: sent in a second", sent * 1e9 / (now - begin));
                note(place + "flood of " + bytes + " B: lost, %", 100.0 * (sent - got) / sent);
                note(place + "flood of " + bytes + " B: longest 16 sends, ms", worst / 1e6);
            }
        }

        /** The receiver reads nothing before all were sent. */
        private void burst(int bytes) throws IOException, InterruptedException {
            int most = socket.getReceiveBufferSize() / (bytes + OVERHEAD_BYTES);
            DatagramPacket last = packet(bytes, LAST);
            socket.send(last);
            socket.receive(last);
            DatagramPacket packet = packet(bytes, COUNTED);
            for (int i = 0; i < most; i++) {
                socket.send(packet);
            }
            orders.give("go");
            note(place + "burst of " + most + " of " + bytes + " B, not read meanwhile: lost", most - counted());
        }
    }
}
