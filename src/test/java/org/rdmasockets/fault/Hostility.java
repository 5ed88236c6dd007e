package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.interop.Program;

/**
 * Serves a process that overwrites all memory it shares with this one, and an honest one, which must not notice. See
 * {@code src/test/sharedmemory}.
 */
final class Hostility {
    private static final int SECONDS = 60;

    private final ServerSocket server;
    private final AtomicLong served = new AtomicLong();
    /** The actions and the number of the attackers. */
    private long attacks;
    private long broken;
    private long writes;
    private int attackers;
    /** Exceptions that no connection may throw. */
    private final List<String> complaints = new CopyOnWriteArrayList<>();

    private Hostility(ServerSocket server) {
        this.server = server;
    }

    /**
     * Runs and prints; the exit status is 0 if all held.
     *
     * @param arguments how long, in seconds
     */
    static void main(String[] arguments) throws Exception {
        System.out.println(run(arguments.length > 0 ? Integer.parseInt(arguments[0]) : SECONDS));
        System.exit(0);
    }

    /**
     * Is attacked.
     *
     * @param seconds how long
     * @return a summary
     */
    static String run(int seconds) throws Exception {
        try (Companion companion = new Companion(); ServerSocket server = Neighbours.listen()) {
            companion.assertServes();
            Hostility victim = new Hostility(server);
            Thread.ofVirtual().name("victim accepts").start(victim::accept);
            // A first attack loads what stays, such as the files of classes.
            victim.attacked(1, companion);
            Leftovers before = Leftovers.take(server.getLocalPort());
            victim.attacked(seconds, companion);
            before.awaitAgain();
            return victim.attacks + " attacks by " + victim.attackers + " processes, " + victim.broken
                    + " of which broke all connections, " + victim.writes + " writes; " + victim.served
                    + " hostile connections served; meanwhile " + companion.exchanges()
                    + " exchanges with another process, all as sent; before: " + before + "; left: "
                    + Leftovers.take(server.getLocalPort());
        }
    }

    /** Attacked by one process after another, each of which is served. */
    private void attacked(int seconds, Companion companion) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        long left = seconds;
        while (left > 0) {
            long servedBefore = served.get();
            try (Program scribbler = Program.java(ScribblerMain.class.getName(), "" + server.getLocalPort(),
                    "" + left)) {
                scribbler.awaitSuccess();
                String[] said = scribbler.awaitLine("done:").split(" ");
                attacks += Long.parseLong(said[0]);
                broken += Long.parseLong(said[1]);
                writes += Long.parseLong(said[2]);
                attackers++;
            }
            assertTrue(served.get() > servedBefore, "the hostile process never connected");
            companion.assertServes();
            assertEquals(List.of(), complaints, "what connections threw");
            left = TimeUnit.NANOSECONDS.toSeconds(deadline - System.nanoTime());
        }
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket socket = server.accept();
                served.incrementAndGet();
                Thread.ofVirtual().name("victim").start(() -> echo(socket));
            } catch (IOException e) {
                if (!server.isClosed()) {
                    complaints.add("accept: " + e);
                }
                return;
            }
        }
    }

    private void echo(Socket socket) {
        try (socket) {
            socket.getInputStream().transferTo(socket.getOutputStream());
        } catch (IOException e) {
            return; // as it should: what came made no sense, or the peer gave up
        } catch (RuntimeException | Error e) {
            complaints.add("echo: " + e);
            throw e;
        }
    }
}
