package org.rdmasockets;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Datagrams on one host, within a process and between two, over shared memory and by {@code java.net} over UDP, which
 * take turns in new JVMs: the first one of a new JVM, one there and back, a flood to a receiver that keeps reading, and
 * a burst that its buffer has room for while it does not read. See {@code src/jmh/run}.
 */
final class Datagrams {
    private static final int ROUND_TRIPS = 10_000;
    private static final long FLOOD_NANOS = 1_000_000_000;
    private static final int WARM_UPS = 3;
    private static final int HELD_MILLIS = 500;
    /** More than a datagram costs besides its data, here and in the kernel. */
    private static final int OVERHEAD_BYTES = 1024;
    /** The first byte: it is counted, sent back, sent back with the count; or nothing is read for a while after it. */
    private static final byte COUNTED = 0;
    private static final byte ANSWERED = 1;
    private static final byte ASKED = 2;
    private static final byte HELD = 3;

    private final DatagramSocket socket;
    private final InetSocketAddress to;
    private final String place;

    private Datagrams(DatagramSocket socket, InetSocketAddress to, String place) {
        this.socket = socket;
        this.to = to;
        this.place = place;
    }

    /**
     * Measures and prints a page; as {@code server KIND} or {@code client KIND PORT}, 0 for one here, it is a process.
     *
     * @param arguments how many rounds, 5 unless told otherwise
     */
    static void main(String[] arguments) throws Exception {
        switch (arguments.length > 1 ? arguments[0] : "") {
            case "server" -> {
                DatagramSocket socket = socket(arguments[1]);
                System.out.println(socket.getLocalPort());
                serve(socket);
            }
            case "client" -> ask(arguments[1], Integer.parseInt(arguments[2]));
            default -> compare(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 5);
        }
        System.exit(0);
    }

    private static DatagramSocket socket(String kind) throws SocketException {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        return kind.equals("udp") ? new DatagramSocket(any) : new RdmaDatagramSocket(any);
    }

    private static void compare(int rounds) throws IOException {
        Map<String, Map<String, List<Double>>> all = new LinkedHashMap<>();
        for (int i = 0; i < 4 * rounds; i++) {
            String kind = i % 2 == 0 ? "udp" : "rdma";
            Process server = start("server", kind);
            try (BufferedReader told = server.inputReader();
                    BufferedReader lines = start("client", kind, i % 4 < 2 ? "0" : told.readLine()).inputReader()) {
                lines.lines().map(line -> line.split("\t")).forEach(parts -> all
                        .computeIfAbsent(parts[0], key -> new LinkedHashMap<>())
                        .computeIfAbsent(kind, key -> new ArrayList<>()).add(Double.valueOf(parts[1])));
            } finally {
                server.destroy();
            }
        }
        System.out.printf("""
                # Datagrams on one host

                `RdmaDatagramSocket` over shared memory beside `java.net.DatagramSocket` over UDP on loopback: medians
                of %d rounds in turn, with the least and the greatest, %s, %d processors, Java %s, Linux %s. The
                load was %s, with this. Made by `src/jmh/run datagrams`; compare within this page only.

                |  | UDP | shared memory | ratio | promised |
                |---|---:|---:|---:|---|
                """, rounds, LocalDate.now(), Runtime.getRuntime().availableProcessors(),
                System.getProperty("java.version"), System.getProperty("os.version"),
                Files.readString(Path.of("/proc/loadavg")).split(" ")[1]);
        all.forEach((what, figures) -> {
            double[] udp = sorted(figures.get("udp"));
            double[] rdma = sorted(figures.get("rdma"));
            double ratio = rdma[rdma.length / 2] / udp[udp.length / 2];
            System.out.printf("| %s | %s | %s | %s | %s |%n", what, range(udp), range(rdma),
                    Double.isFinite(ratio) ? "%.2f".formatted(ratio) : "", promise(what, rdma[rdma.length / 2], ratio));
        });
    }

    private static String promise(String what, double seen, double ratio) {
        if (what.contains("there and back")) {
            return promise("a ratio of at most 0.9", ratio <= 0.9);
        } else if (what.contains("received")) {
            return promise("a ratio of at least 5", ratio >= 5);
        } else if (what.endsWith("%")) {
            return promise("less than 1 %", seen < 1);
        } else if (what.contains("burst")) {
            return promise("none", seen == 0);
        }
        return what.contains("first send") ? promise("at most 20 ms", seen <= 20) : "";
    }

    private static String promise(String text, boolean holds) {
        return text + (holds ? ": holds" : ": **does not hold**");
    }

    private static Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m",
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                Datagrams.class.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private static double[] sorted(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    }

    private static String range(double[] sorted) {
        return "%,.1f (%,.1f to %,.1f)".formatted(sorted[sorted.length / 2], sorted[0], sorted[sorted.length - 1]);
    }

    private static void serve(DatagramSocket socket) throws IOException, InterruptedException {
        DatagramPacket packet = new DatagramPacket(new byte[16_384], 16_384);
        for (long counted = 0;;) {
            packet.setLength(packet.getData().length);
            socket.receive(packet);
            byte kind = packet.getData()[0];
            if (kind == COUNTED) {
                counted++;
                continue;
            }
            if (kind == ASKED) {
                ByteBuffer.wrap(packet.getData()).putLong(1, counted);
                counted = 0;
            }
            socket.send(packet);
            if (kind == HELD) {
                Thread.sleep(HELD_MILLIS);
            }
        }
    }

    private static void ask(String kind, int port) throws Exception {
        InetSocketAddress to = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        String place = "between two processes, ";
        if (port == 0) {
            place = "within a process, ";
            DatagramSocket here = socket(kind);
            to = (InetSocketAddress) here.getLocalSocketAddress();
            Thread.ofPlatform().daemon().start(() -> {
                try {
                    serve(here);
                } catch (IOException | InterruptedException e) {
                    System.err.println(e);
                }
            });
        }
        long begin = System.nanoTime();
        Datagrams client = new Datagrams(socket(kind), to, place);
        long made = System.nanoTime();
        DatagramPacket packet = client.packet(64, ANSWERED);
        client.socket.send(packet);
        long sent = System.nanoTime();
        client.socket.receive(packet);
        client.note("a new socket: ms", (made - begin) / 1e6);
        client.note("its first send: ms", (sent - made) / 1e6);
        client.note("until the first answer: ms", (System.nanoTime() - begin) / 1e6);
        for (int bytes : new int[] {64, 1024, 8000}) {
            for (int i = 0; i < WARM_UPS; i++) {
                client.roundTrip(bytes);
            }
            client.note(bytes + " B there and back: us", client.roundTrip(bytes));
        }
        for (int bytes : new int[] {64, 1024}) {
            for (int i = 0; i <= WARM_UPS; i++) {
                client.flood(bytes, i == WARM_UPS);
            }
            client.burst(bytes);
        }
    }

    private void note(String what, double value) {
        System.out.println(place + what + "\t" + value);
    }

    private DatagramPacket packet(int bytes, byte kind) {
        byte[] data = new byte[bytes];
        data[0] = kind;
        return new DatagramPacket(data, bytes, to);
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

    /** How many came, as soon as the receiver must have taken all. */
    private long counted() throws IOException, InterruptedException {
        Thread.sleep(HELD_MILLIS + 100);
        DatagramPacket packet = packet(64, ASKED);
        socket.send(packet);
        socket.receive(packet);
        return ByteBuffer.wrap(packet.getData()).getLong(1);
    }

    private void flood(int bytes, boolean told) throws IOException, InterruptedException {
        DatagramPacket packet = packet(bytes, COUNTED);
        long sent = 0;
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < FLOOD_NANOS) {
            for (int i = 0; i < 16; i++) {
                socket.send(packet);
            }
            sent += 16;
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        long got = counted();
        if (told) {
            note("flood of " + bytes + " B: received in a second", got / seconds);
            note("flood of " + bytes + " B: lost, %", 100.0 * (sent - got) / sent);
        }
    }

    private void burst(int bytes) throws IOException, InterruptedException {
        int many = socket.getReceiveBufferSize() / (bytes + OVERHEAD_BYTES);
        DatagramPacket held = packet(64, HELD);
        socket.send(held);
        socket.receive(held);
        DatagramPacket packet = packet(bytes, COUNTED);
        for (int i = 0; i < many; i++) {
            socket.send(packet);
        }
        note("burst of " + many + " of " + bytes + " B, not read meanwhile: lost", many - counted());
    }
}
