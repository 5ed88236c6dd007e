package org.rdmasockets.fault;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.interop.Program;

/**
 * Measures the processor time of two processes with idle connections between them, a reader parked at each end, beside
 * that of a process without any. See {@code src/test/sharedmemory}.
 */
final class IdleProcesses {
    private static final int SECONDS = 30;
    private static final int CONNECTIONS = 100;
    private static final double LIMIT_PERCENT = 1.0;
    /** For what a JVM still does after its start. */
    private static final int SETTLE_SECONDS = 3;

    private IdleProcesses() {
    }

    /**
     * Prints the share of a core of each process; the exit status is 0 if all are below the limit.
     *
     * @param arguments how long, in seconds; or what a child is to do
     */
    static void main(String[] arguments) throws Exception {
        String first = arguments.length > 0 ? arguments[0] : "" + SECONDS;
        switch (first) {
            case "none" -> stay(List.of());
            case "accept" -> accept();
            case "connect" -> connect(Integer.parseInt(arguments[1]));
            default -> System.exit(measure(Integer.parseInt(first)) ? 0 : 1);
        }
    }

    private static boolean measure(int seconds) throws IOException, InterruptedException {
        try (Program none = child("none"); Program accepting = child("accept");
                Program connecting = child("connect", accepting.awaitLine("listening"))) {
            List<Program> programs = List.of(none, accepting, connecting);
            for (Program program : programs) {
                program.awaitLine("parked");
            }
            LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(SETTLE_SECONDS));
            double[] percent = percentOfACore(programs, seconds);
            System.out.printf("%d idle connections over %d s: %.2f %% of a core where they were accepted, "
                    + "%.2f %% where they were made, %.2f %% without any%n",
                    CONNECTIONS, seconds, percent[1], percent[2], percent[0]);
            return percent[1] < LIMIT_PERCENT && percent[2] < LIMIT_PERCENT;
        }
    }

    private static Program child(String... arguments) throws IOException {
        return Program.java(IdleProcesses.class.getName(), arguments);
    }

    private static double[] percentOfACore(List<Program> programs, int seconds) throws IOException {
        double[] percent = new double[programs.size()];
        for (int i = 0; i < percent.length; i++) {
            percent[i] = -processorTime(programs.get(i)).toNanos();
        }
        long start = System.nanoTime();
        long end = start + TimeUnit.SECONDS.toNanos(seconds);
        while (System.nanoTime() - end < 0) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
        for (int i = 0; i < percent.length; i++) {
            long used = processorTime(programs.get(i)).toNanos();
            percent[i] = 100 * (percent[i] + used) / (System.nanoTime() - start);
        }
        return percent;
    }

    private static Duration processorTime(Program program) throws IOException {
        return ProcessHandle.of(program.pid()).flatMap(process -> process.info().totalCpuDuration())
                .orElseThrow(() -> new IOException("no processor time of " + program));
    }

    private static void accept() throws IOException, InterruptedException {
        List<Socket> sockets = new ArrayList<>();
        try (ServerSocket server = Neighbours.listen()) {
            System.out.println("listening " + server.getLocalPort());
            for (int i = 0; i < CONNECTIONS; i++) {
                Socket socket = server.accept();
                sockets.add(socket);
                socket.getOutputStream().write(1);
            }
            stay(sockets);
        }
    }

    private static void connect(int port) throws IOException, InterruptedException {
        List<Socket> sockets = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            Socket socket = Neighbours.connect(port);
            sockets.add(socket);
            if (socket.getInputStream().read() != 1) {
                throw new IOException("connection " + i + " ended early");
            }
        }
        stay(sockets);
    }

    /** Reads them all until killed; ends if one of them does. */
    private static void stay(List<Socket> sockets) throws IOException, InterruptedException {
        List<Attempt> readers = new ArrayList<>();
        for (Socket socket : sockets) {
            readers.add(Attempt.start("reader", socket.getInputStream()::read));
        }
        for (Attempt reader : readers) {
            reader.awaitParked();
        }
        System.out.println("parked");
        if (readers.isEmpty()) {
            Thread.currentThread().join();
        }
        readers.getFirst().await(TimeUnit.HOURS.toMillis(1));
    }
}
