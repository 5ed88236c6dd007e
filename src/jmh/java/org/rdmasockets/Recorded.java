package org.rdmasockets;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;
import jdk.jfr.Configuration;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;

/**
 * The cost of a recording: requests of 64 B and their answers within one JVM, in turn with a recording and without one.
 * Only neighbours in time are compared, since a JVM can be twice as fast as the next one. See {@code src/jmh/run}.
 */
final class Recorded {
    private static final int BYTES = 64;
    private static final int[] CONNECTIONS = {1, 16};
    /** A recording changes classes, which are compiled once more. */
    private static final int COMPILE_MILLIS = 1_500;
    private static final int MEASURE_MILLIS = 1_000;
    private static final String[] JDK_EVENTS = {"jdk.SocketRead", "jdk.SocketWrite"};

    private enum Kind {
        DEFAULT("the JDK's default settings"),
        OTHERS("the same without jdk.SocketRead and jdk.SocketWrite"),
        OWN("the events of this library alone");

        private final String title;

        Kind(String title) {
            this.title = title;
        }
    }

    private final LongAdder answers = new LongAdder();

    private Recorded() {}

    /**
     * Measures and prints a page.
     *
     * @param arguments how many rounds, 3 unless told otherwise
     */
    static void main(String[] arguments) throws Exception {
        int rounds = arguments.length == 0 ? 3 : Integer.parseInt(arguments[0]);
        System.out.printf("""
                # The cost of a recording

                Requests of 64 B and their answers over shared memory between virtual threads of one JVM, with a
                recording of the Flight Recorder beside the second before and the second after it without one: the
                median of %d ratios of the rates, the least and the greatest; 1 would be no difference. %s,
                %d processors, Java %s, Linux %s. Made by `src/jmh/run recorded`.

                | connections | recorded | RdmaSocket | java.net.Socket |
                |---:|---|---:|---:|
                """, rounds, LocalDate.now(), Runtime.getRuntime().availableProcessors(),
                System.getProperty("java.version"), System.getProperty("os.version"));
        for (int connections : CONNECTIONS) {
            double[][] ours = new Recorded().measure(new RdmaServerSocket(0), connections, rounds);
            double[][] theirs = new Recorded().measure(new ServerSocket(0), connections, rounds);
            for (Kind kind : Kind.values()) {
                System.out.printf("| %d | %s | %s | %s |%n", connections, kind.title, text(ours[kind.ordinal()]),
                        text(theirs[kind.ordinal()]));
            }
        }
        System.out.printf("%nRescued wake-ups: %d.%n", TransportCounters.rescues());
    }

    private static String text(double[] ratios) {
        Arrays.sort(ratios);
        return String.format("%.3f (%.3f to %.3f)", ratios[ratios.length / 2], ratios[0], ratios[ratios.length - 1]);
    }

    /** The ratios of each kind of recording. */
    private double[][] measure(ServerSocket server, int connections, int rounds) throws Exception {
        Socket[] clients = new Socket[connections];
        double[][] ratios = new double[Kind.values().length][rounds];
        try (server) {
            for (int i = 0; i < connections; i++) {
                Socket client = server instanceof RdmaServerSocket ? new RdmaSocket() : new Socket();
                clients[i] = client;
                client.setTcpNoDelay(true);
                client.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getLocalPort()));
                Socket accepted = server.accept();
                accepted.setTcpNoDelay(true);
                Thread.startVirtualThread(() -> converse(accepted, false));
                Thread.startVirtualThread(() -> converse(client, true));
            }
            // The first round compiles, and its figures are written over.
            for (int round = -1; round < rounds; round++) {
                double before = rate();
                for (Kind kind : Kind.values()) {
                    double recorded;
                    try (Recording recording = recording(kind)) {
                        recording.start();
                        recorded = rate();
                    }
                    double after = rate();
                    ratios[kind.ordinal()][Math.max(0, round)] = 2 * recorded / (before + after);
                    before = after;
                }
            }
        } finally {
            for (Socket client : clients) {
                if (client != null) {
                    client.close();
                }
            }
        }
        return ratios;
    }

    private static Recording recording(Kind kind) throws Exception {
        if (kind == Kind.OWN) {
            Recording recording = new Recording();
            for (EventType type : FlightRecorder.getFlightRecorder().getEventTypes()) {
                if (type.getName().startsWith("org.rdmasockets.")) {
                    recording.enable(type.getName());
                }
            }
            return recording;
        }
        Recording recording = new Recording(Configuration.getConfiguration("default"));
        if (kind == Kind.OTHERS) {
            for (String event : JDK_EVENTS) {
                recording.disable(event);
            }
        }
        return recording;
    }

    /** Writes and reads, or the other way round, until one end closes. */
    private void converse(Socket socket, boolean first) {
        try (socket) {
            InputStream in = socket.getInputStream();
            OutputStream out = socket.getOutputStream();
            byte[] bytes = new byte[BYTES];
            if (first) {
                out.write(bytes);
            }
            while (in.readNBytes(bytes, 0, BYTES) == BYTES) {
                out.write(bytes);
                if (first) {
                    answers.increment();
                }
            }
        } catch (IOException e) {
            // The other end has closed.
        }
    }

    /** Answers in a second, after what has changed is compiled. */
    private double rate() throws InterruptedException {
        Thread.sleep(COMPILE_MILLIS);
        long count = answers.sum();
        long start = System.nanoTime();
        Thread.sleep(MEASURE_MILLIS);
        return (answers.sum() - count) * 1e9 / (System.nanoTime() - start);
    }
}
