package org.rdmasockets.fault;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.rdmasockets.guard.HeapHistogram;
import org.rdmasockets.interop.Program;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Engine;

/**
 * Measures the resources of idle connections between two processes: memory that is registered, heap, processor time;
 * before and after they were used. Each has a virtual thread in read at both ends. The contents of the heap are in
 * {@code target/heap-*.txt}, class by class. See {@code src/test/sharedmemory}.
 */
final class ManyConnections {
    private static final int CONNECTIONS = 10_000;
    private static final int IDLE_SECONDS = 10;
    private static final long LIMIT_REGISTERED = 64 << 10;
    private static final long LIMIT_HEAP = 4 << 10;
    private static final double LIMIT_PERCENT = 1.0;
    /** A used connection transfers so much, both ways. */
    private static final int USED_BYTES = 4 << 20;
    /** So many are used. */
    private static final int USED = 500;
    /** The first byte of a small request, which is all of it, and of a large one. */
    private static final int SMALL = 1;
    private static final int LARGE = 2;
    private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(2);
    private static final long WAIT_MILLIS = TimeUnit.MINUTES.toMillis(10);
    /** How long used connections may take to become small again. */
    private static final long SHRINK_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    /** When nothing was compiled for so long, compilers have caught up. */
    private static final long COMPILERS_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Registered bytes before any connection was used; the measuring thread only. */
    private static long least;

    private ManyConnections() {
    }

    /**
     * Prints the resources of each process; the exit status is 0 if all are below the limits and every connection
     * answers.
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
        List<String> options = List.of("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        try (Program accepting = Program.java(options, ManyConnections.class.getName(), "accept", count);
                Program connecting = Program.java(options, ManyConnections.class.getName(), "connect",
                        accepting.awaitLine("listening"), count)) {
            boolean good = show("new", accepting, connecting);
            long[] before = {processorNanos(accepting), processorNanos(connecting)};
            long start = System.nanoTime();
            connecting.awaitLine("idle", WAIT_MILLIS);
            double nanos = System.nanoTime() - start;
            double percentAccepting = 100 * (processorNanos(accepting) - before[0]) / nanos;
            double percentConnecting = 100 * (processorNanos(connecting) - before[1]) / nanos;
            System.out.printf("idle: %.2f %% and %.2f %% of a core%n", percentAccepting, percentConnecting);
            System.out.println("answered: " + connecting.awaitLine("answered:", WAIT_MILLIS));
            System.out.println("used: " + connecting.awaitLine("used:", WAIT_MILLIS));
            good &= show("used and idle", accepting, connecting);
            System.out.println("answered again: " + connecting.awaitLine("answered again:", WAIT_MILLIS));
            return good && percentAccepting < LIMIT_PERCENT && percentConnecting < LIMIT_PERCENT;
        }
    }

    /** Prints both processes' figures for one connection, and tells whether they are within the limits. */
    private static boolean show(String state, Program accepting, Program connecting)
            throws IOException, InterruptedException {
        boolean good = true;
        for (Program program : List.of(connecting, accepting)) {
            String[] figures = program.awaitLine(state + ":", WAIT_MILLIS).trim().split(" ");
            long registered = Long.parseLong(figures[0]);
            long heap = Long.parseLong(figures[1]);
            System.out.printf("%s, where they were %s: %d bytes registered, %d bytes of heap for each%n", state,
                    program == accepting ? "accepted" : "made", registered, heap);
            good &= registered <= LIMIT_REGISTERED && heap <= LIMIT_HEAP;
        }
        return good;
    }

    private static long processorNanos(Program program) throws IOException {
        return ProcessHandle.of(program.pid()).flatMap(process -> process.info().totalCpuDuration())
                .orElseThrow(() -> new IOException("no processor time of " + program)).toNanos();
    }

    /** Answers on every connection; over the first one it is told when to measure. */
    private static void accept(int count) throws Exception {
        try (ServerSocket server = Neighbours.listen(count)) {
            System.out.println("listening " + server.getLocalPort());
            Socket control = server.accept();
            control.getInputStream().read();
            HeapHistogram heap = heapBefore();
            control.getOutputStream().write(1);
            List<Thread> readers = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                Socket socket = server.accept();
                readers.add(Thread.startVirtualThread(() -> echo(socket)));
            }
            for (String state : List.of("new", "used and idle")) {
                control.getInputStream().read();
                measure(state, "accepted", heap, readers);
                control.getOutputStream().write(1);
            }
            control.getInputStream().read();
        }
    }

    private static void echo(Socket socket) {
        byte[] one = new byte[1];
        try {
            InputStream in = socket.getInputStream();
            OutputStream out = socket.getOutputStream();
            while (in.read(one) == 1) {
                out.write(one[0] == SMALL ? one : in.readNBytes(USED_BYTES));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void connect(int port, int count) throws Exception {
        Socket control = Neighbours.connect(port);
        ask(control);
        HeapHistogram heap = heapBefore();
        AtomicLong arrived = new AtomicLong();
        List<Socket> sockets = new ArrayList<>(count);
        List<Thread> readers = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            Socket socket = Neighbours.connect(port);
            sockets.add(socket);
            readers.add(Thread.startVirtualThread(() -> count(socket, arrived)));
        }
        measure("new", "made", heap, readers);
        ask(control);
        LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(IDLE_SECONDS));
        System.out.println("idle");
        requestAll(sockets, arrived);
        System.out.println("answered: all " + count);
        System.out.println("used: " + use(sockets, arrived));
        measure("used and idle", "made", heap, readers);
        ask(control);
        requestAll(sockets, arrived);
        System.out.println("answered again: all " + count);
    }

    private static void count(Socket socket, AtomicLong arrived) {
        byte[] buffer = new byte[1];
        try {
            InputStream in = socket.getInputStream();
            for (int read = in.read(buffer); read > 0; read = in.read(buffer)) {
                arrived.addAndGet(read);
                // A large answer is read in large pieces, which are not kept.
                arrived.addAndGet(in.available() == 0 ? 0 : in.readNBytes(in.available()).length);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void ask(Socket control) throws IOException {
        control.getOutputStream().write(1);
        if (control.getInputStream().read() != 1) {
            throw new IOException("the other process has ended");
        }
    }

    private static void requestAll(List<Socket> sockets, AtomicLong arrived) throws IOException {
        long before = arrived.get();
        for (Socket socket : sockets) {
            socket.getOutputStream().write(SMALL);
        }
        await("an answer from each of " + sockets.size(), () -> arrived.get() == before + sockets.size());
    }

    /** Sends much both ways on some connections, a few at a time; returns how much was registered at most. */
    private static String use(List<Socket> sockets, AtomicLong arrived) throws IOException {
        byte[] data = new byte[USED_BYTES];
        long most = 0;
        int used = Math.min(USED, sockets.size());
        for (int i = 0; i < used; i++) {
            long before = arrived.get();
            sockets.get(i).getOutputStream().write(LARGE);
            sockets.get(i).getOutputStream().write(data);
            await("an answer of " + USED_BYTES + " bytes", () -> arrived.get() == before + USED_BYTES);
            most = Math.max(most, registered());
        }
        return used + " connections, one after the other, " + most + " bytes registered for all at most";
    }

    /** Prints what each connection takes, once its reader is parked and it had time to shrink. */
    private static void measure(String state, String end, HeapHistogram before, List<Thread> readers)
            throws IOException {
        await("parked readers", () -> readers.stream().allMatch(t -> t.getState() == Thread.State.WAITING));
        least = least == 0 ? registered() : least;
        long deadline = System.nanoTime() + SHRINK_NANOS;
        while (registered() > least && System.nanoTime() < deadline) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        awaitCompilers();
        HeapHistogram heap = HeapHistogram.now().since(before);
        Files.writeString(Path.of("target", "heap-" + end + "-" + state.replace(' ', '-') + ".txt"),
                heap.perPart(readers.size()));
        System.out.println(state + ": " + registered() / readers.size() + " " + heap.bytes() / readers.size());
    }

    /** Their work is not what idle connections take. */
    private static void awaitCompilers() {
        long seen = -1;
        long deadline = System.nanoTime() + SHRINK_NANOS;
        for (long now = compiledMillis(); now != seen && System.nanoTime() < deadline; now = compiledMillis()) {
            seen = now;
            LockSupport.parkNanos(COMPILERS_PAUSE_NANOS);
        }
    }

    private static long compiledMillis() {
        return ManagementFactory.getCompilationMXBean().getTotalCompilationTime();
    }

    private static void await(String what, BooleanSupplier condition) throws IOException {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new IOException("waited in vain for " + what);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private static long registered() throws IOException {
        return Engine.of(Providers.sharedMemory()).registeredBytes();
    }

    private static HeapHistogram heapBefore() {
        HeapHistogram.now();
        return HeapHistogram.now();
    }
}
