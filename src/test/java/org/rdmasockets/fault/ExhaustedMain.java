package org.rdmasockets.fault;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.RdmaServerSocket;

/** A process that echoes, and has no heap or no descriptors left when it is told so; or one that only connects. */
final class ExhaustedMain {
    private static final int CONNECT_MILLIS = 10_000;
    private static final int MAX_PIECE = 1 << 20;
    private static final int MIN_PIECE = 2;
    private static final long REFILL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final FileInputStream[] HELD = new FileInputStream[10_000];

    /** Why connections have ended, to be said when there is memory for that. */
    private static final Throwable[] ENDS = new Throwable[100];
    private static final AtomicInteger ENDED = new AtomicInteger();

    private ExhaustedMain() {
    }

    /**
     * Obeys.
     *
     * @param arguments a port to connect to once, or nothing to serve
     */
    static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            try (Socket socket = Neighbours.connect(Integer.parseInt(arguments[0]), CONNECT_MILLIS)) {
                socket.getOutputStream().write(1);
                System.out.println("answered " + socket.getInputStream().read());
            } catch (IOException e) {
                System.out.println("failed: " + e.getMessage());
            }
            System.exit(0);
        }
        ServerSocket server = new RdmaServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.1"));
        System.out.println("listening " + server.getLocalPort());
        Thread.ofPlatform().daemon().start(() -> acceptAll(server));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String command = commands.readLine(); command != null; command = commands.readLine()) {
            switch (command) {
                case "heap" -> fillHeap(System.nanoTime() + TimeUnit.SECONDS.toNanos(3));
                case "descriptors" -> System.out.println("opened " + openAll());
                default -> closeAll();
            }
            System.out.println("done " + command);
            for (int i = 0; ENDS[i] != null; i++) {
                System.out.println("a connection has ended: " + ENDS[i] + ", caused by " + ENDS[i].getCause());
            }
        }
    }

    private static void acceptAll(ServerSocket server) {
        while (true) {
            try {
                Socket socket = server.accept();
                try {
                    Thread.ofPlatform().daemon().start(() -> echo(socket));
                } catch (OutOfMemoryError e) {
                    socket.close();
                }
            } catch (Throwable e) {
                LockSupport.parkNanos(REFILL_NANOS);
            }
        }
    }

    private static void echo(Socket socket) {
        try (socket) {
            byte[] buffer = new byte[4096];
            for (int n = socket.getInputStream().read(buffer); n >= 0; n = socket.getInputStream().read(buffer)) {
                socket.getOutputStream().write(buffer, 0, n);
            }
        } catch (Throwable e) {
            ENDS[ENDED.getAndIncrement() % ENDS.length] = e;
        }
    }

    /** Takes every byte of the heap, again and again. */
    private static void fillHeap(long endNanos) {
        Object[] chain = null;
        while (System.nanoTime() - endNanos < 0) {
            for (int length = MAX_PIECE; length >= MIN_PIECE; length /= 2) {
                try {
                    while (System.nanoTime() - endNanos < 0) {
                        Object[] more = new Object[length];
                        more[0] = chain;
                        chain = more;
                    }
                } catch (OutOfMemoryError e) {
                    continue;
                }
            }
            LockSupport.parkNanos(REFILL_NANOS);
        }
    }

    private static int openAll() {
        int count = 0;
        try {
            while (true) {
                HELD[count] = new FileInputStream("/dev/null");
                count++;
            }
        } catch (IOException e) {
            return count;
        }
    }

    private static void closeAll() throws IOException {
        for (int i = 0; HELD[i] != null; i++) {
            HELD[i].close();
            HELD[i] = null;
        }
    }
}
