package org.rdmasockets.guard;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.Linked;

/**
 * Runs on a copy of the library that calls {@link #enter} at the beginning of each method: prints what one write and
 * one read of what is there enter over a link of shared memory, the shortest of many.
 */
public final class EnteredMain {
    private static final int ROUNDS = 1_000;
    private static final int BYTES = 64;
    /** In one round of so many the poller gets time to take in what was written, so that the read finds it. */
    private static final int ROUNDS_PER_PAUSE = 10;
    private static final long PAUSE_NANOS = 2_000_000;

    /** The thread whose steps are counted; null for none. */
    private static volatile Thread counted;
    private static final List<String> ENTERED = new ArrayList<>();

    private EnteredMain() {
    }

    /**
     * A method begins.
     *
     * @param method its class and name
     */
    public static void enter(String method) {
        if (Thread.currentThread() == counted) {
            ENTERED.add(method);
        }
    }

    /**
     * Sends and receives, and prints the methods in a line for each.
     *
     * @throws IOException if that fails
     */
    public static void main() throws IOException {
        Replacement linked = new Replacement(Linked.provider());
        try (ServerSocket listener = new RdmaServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new RdmaSocket()) {
            client.connect(new InetSocketAddress(listener.getInetAddress(), listener.getLocalPort()));
            try (Socket server = listener.accept()) {
                pass(client, server);
            }
        } finally {
            linked.close();
        }
    }

    private static void pass(Socket from, Socket to) throws IOException {
        byte[] bytes = new byte[BYTES];
        List<String> write = null;
        List<String> read = null;
        for (int round = 0; round < ROUNDS; round++) {
            write = shorter(write, () -> from.getOutputStream().write(bytes));
            if (round % ROUNDS_PER_PAUSE == 0) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
            read = shorter(read, () -> to.getInputStream().read(bytes));
            from.getInputStream().available(); // takes in what has completed
        }
        System.out.println("write " + String.join(" ", write));
        System.out.println("read " + String.join(" ", read));
    }

    /** A step of the one thread. */
    private interface Step {
        void run() throws IOException;
    }

    private static List<String> shorter(List<String> before, Step step) throws IOException {
        ENTERED.clear();
        counted = Thread.currentThread();
        try {
            step.run();
        } finally {
            counted = null;
        }
        return before == null || ENTERED.size() < before.size() ? List.copyOf(ENTERED) : before;
    }
}
