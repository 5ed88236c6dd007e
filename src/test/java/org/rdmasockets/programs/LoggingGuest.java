package org.rdmasockets.programs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** A program under the agent whose log does what a log may do. It needs nothing but the JDK. */
public final class LoggingGuest {
    private static final InetAddress HERE = InetAddress.getLoopbackAddress();
    private static final Logger LIBRARY = Logger.getLogger("org.rdmasockets");
    private static final Logger CHOICE = Logger.getLogger("org.rdmasockets.internal.selection");
    private static final int PATIENCE_SECONDS = 40;
    private static final int BURST = 200;
    private static final int TIMEOUT_MILLIS = 30_000;

    private LoggingGuest() {
    }

    /**
     * Does what the argument says and ends at once, whatever waits; or says who waits.
     *
     * @param args one name of a method
     */
    public static void main(String[] args) {
        Callable<?> task = switch (args[0]) {
            case "sends" -> LoggingGuest::sends;
            case "blocks" -> LoggingGuest::blocks;
            case "fails" -> LoggingGuest::fails;
            case "sources" -> LoggingGuest::sources;
            case "burst" -> LoggingGuest::burst;
            case "behind" -> LoggingGuest::behind;
            case "level" -> LoggingGuest::level;
            case "exits" -> LoggingGuest::exits;
            default -> throw new IllegalArgumentException(args[0]);
        };
        FutureTask<?> work = new FutureTask<>(task);
        new Thread(work, "work").start();
        int status = 0;
        try {
            System.out.println("> " + work.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        } catch (TimeoutException e) {
            System.out.println("> stuck");
            Thread.getAllStackTraces().forEach((thread, stack) -> System.out.println(thread + " " + List.of(stack)));
        } catch (Exception e) {
            e.printStackTrace(System.out);
            status = 1;
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    /** The only handler of all logs. */
    private static void handle(Level level, Consumer<LogRecord> taker) {
        Logger root = Logger.getLogger("");
        for (Handler handler : root.getHandlers()) {
            root.removeHandler(handler);
        }
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                taker.accept(line);
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        handler.setLevel(Level.ALL);
        root.addHandler(handler);
        LIBRARY.setLevel(level);
    }

    private static void await(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS / 2);
        while (!condition.call()) {
            if (System.nanoTime() - end > 0) {
                throw new IllegalStateException("not in time: " + what);
            }
            Thread.onSpinWait();
        }
    }

    private static ServerSocket server(int backlog) throws IOException {
        ServerSocket server = new ServerSocket(0, backlog, HERE);
        server.setSoTimeout(TIMEOUT_MILLIS);
        return server;
    }

    private static void meet(ServerSocket server) throws IOException {
        try (Socket client = new Socket()) {
            client.connect(server.getLocalSocketAddress(), TIMEOUT_MILLIS);
            try (Socket accepted = server.accept()) {
                client.getOutputStream().write(3);
                accepted.getInputStream().read();
            }
        }
    }

    private static void inThreads(int count, Callable<?> task) throws Exception {
        List<FutureTask<?>> tasks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            FutureTask<?> one = new FutureTask<>(task);
            tasks.add(one);
            Thread thread = new Thread(one);
            thread.setDaemon(true);
            thread.start();
        }
        for (FutureTask<?> one : tasks) {
            one.get();
        }
    }

    /** Sends each line over a socket of its own, one at a time, as appenders of log servers do. */
    private static String sends() throws Exception {
        ServerSocket logServer = new ServerSocket(0, 50, HERE);
        ConcurrentLinkedQueue<String> got = new ConcurrentLinkedQueue<>();
        Thread.startVirtualThread(() -> {
            while (true) {
                try (Socket socket = logServer.accept()) {
                    got.add(new String(socket.getInputStream().readAllBytes()));
                } catch (IOException e) {
                    return;
                }
            }
        });
        Object lock = new Object();
        handle(Level.FINE, line -> {
            synchronized (lock) {
                try (Socket socket = new Socket(HERE, logServer.getLocalPort())) {
                    socket.getOutputStream().write(line.getMessage().getBytes());
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
        ServerSocket server = server(5);
        inThreads(4, () -> {
            for (int i = 0; i < 30; i++) {
                meet(server);
            }
            return null;
        });
        await("lines at the server", () -> got.stream().anyMatch(line -> line.contains("connected over ")));
        return "went on";
    }

    /** Blocks for ever, as a full pipe does, from its second line on. */
    private static String blocks() throws Exception {
        CountDownLatch first = new CountDownLatch(1);
        CountDownLatch second = new CountDownLatch(1);
        CountDownLatch never = new CountDownLatch(1);
        handle(Level.FINE, line -> {
            if (first.getCount() > 0) {
                first.countDown();
                return;
            }
            second.countDown();
            try {
                never.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        try (ServerSocket server = server(5)) {
            meet(server);
        }
        first.await();
        second.await();
        try (ServerSocket silent = server(5)) {
            silent.setSoTimeout(100);
            try {
                silent.accept().close();
            } catch (IOException e) {
                System.out.println("> " + e.getMessage());
            }
        }
        ServerSocket server = server(5);
        inThreads(4, () -> {
            for (int i = 0; i < 30; i++) {
                meet(server);
            }
            return null;
        });
        return "went on";
    }

    /** Throws an Error for each line. */
    private static String fails() throws Exception {
        CountDownLatch lines = new CountDownLatch(5);
        handle(Level.FINE, line -> {
            lines.countDown();
            throw new AssertionError("a handler that fails");
        });
        ServerSocket server = server(5);
        while (lines.getCount() > 0) {
            meet(server);
        }
        return "went on";
    }

    private static String sources() throws Exception {
        ConcurrentLinkedQueue<LogRecord> lines = new ConcurrentLinkedQueue<>();
        handle(Level.FINE, lines::add);
        try (ServerSocket server = server(5)) {
            meet(server);
        }
        await("a line of a connect",
                () -> lines.stream().anyMatch(line -> line.getMessage().contains("] connected over ")));
        for (LogRecord line : lines) {
            if (!line.getLoggerName().equals(line.getSourceClassName()) || line.getSourceMethodName() != null) {
                return line.getSourceClassName() + " " + line.getSourceMethodName() + ": " + line.getLoggerName();
            }
        }
        return lines.stream().anyMatch(line ->
                line.getLoggerName().equals("org.rdmasockets.internal.selection.Connector"))
                ? "each line names its place" : "no line of a connect: " + lines.size();
    }

    /** A server that accepts in a loop, and more clients at once than its backlog has places. */
    private static String burst() throws Exception {
        ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();
        handle(Level.INFO, line -> lines.add(line.getMessage()));
        CHOICE.setLevel(Level.FINE);
        ServerSocket server = server(50);
        List<Socket> accepted = new ArrayList<>();
        FutureTask<?> accepting = new FutureTask<>(() -> {
            while (accepted.size() < BURST) {
                accepted.add(server.accept());
            }
            return null;
        });
        new Thread(accepting).start();
        CountDownLatch all = new CountDownLatch(BURST);
        inThreads(BURST, () -> {
            all.countDown();
            all.await();
            return new Socket(HERE, server.getLocalPort());
        });
        accepting.get();
        await("a line for each", () -> count(lines, "] accepted over sharedmemory") == BURST
                && count(lines, "] connected over sharedmemory") == BURST);
        return count(lines, "backlog") + " lines of the backlog";
    }

    private static long count(Iterable<String> lines, String text) {
        long count = 0;
        for (String line : lines) {
            count += line.contains(text) ? 1 : 0;
        }
        return count;
    }

    /** A server that does not accept. */
    private static String behind() throws Exception {
        ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();
        handle(Level.INFO, line -> lines.add(line.getMessage()));
        ServerSocket server = server(1);
        for (int i = 0; i < 5; i++) {
            Thread.startVirtualThread(() -> {
                try (Socket socket = new Socket(HERE, server.getLocalPort())) {
                    socket.getInputStream().read();
                } catch (IOException e) {
                    lines.add(e.toString());
                }
            });
        }
        await("a line that says so", () -> count(lines, "the backlog of 1 is full, beyond it wait ") > 0);
        return "said so";
    }

    /** Asks for details while the library has long known that no handler wants them. */
    private static String level() throws Exception {
        ConcurrentLinkedQueue<LogRecord> lines = new ConcurrentLinkedQueue<>();
        handle(Level.INFO, lines::add);
        ServerSocket server = server(5);
        meet(server);
        await("information", () -> !lines.isEmpty());
        for (int i = 0; i < 5; i++) {
            meet(server);
        }
        if (lines.stream().anyMatch(line -> line.getLevel().intValue() < Level.INFO.intValue())) {
            return "details are written though nobody asked";
        }
        LIBRARY.setLevel(Level.FINE);
        await("details", () -> {
            meet(server);
            return lines.stream().anyMatch(line -> line.getLevel() == Level.FINE
                    && line.getLoggerName().equals("org.rdmasockets.internal.selection.Connector"));
        });
        return "details are written once asked for";
    }

    /** Ends right after its first socket, whose settings have a mistake that a warning tells. */
    private static String exits() throws Exception {
        server(5);
        System.exit(0);
        return "unreachable";
    }
}
