package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.internal.ffi.Descriptors;

/**
 * Kills process after process that shares memory with this one, at a random moment under load. Every call of this
 * process ends in time and as java.net has it, others are served on, and in the end nothing is left. See
 * {@code src/test/sharedmemory}.
 */
final class Kills {
    private static final int ROUNDS = 100;
    private static final long BOUND_MILLIS = 1_000;
    /** Both directions together, in a second or less. */
    private static final long MAX_LOAD_BYTES = 200L << 20;
    private static final int PIECE_BYTES = 30_000;

    private final ServerSocket server;
    private final Companion companion;
    private final long boundMillis;

    private Kills(ServerSocket server, Companion companion, long boundMillis) {
        this.server = server;
        this.companion = companion;
        this.boundMillis = boundMillis;
    }

    /**
     * Runs and prints; the exit status is 0 if all held.
     *
     * @param arguments how many processes to kill
     */
    static void main(String[] arguments) throws Exception {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : ROUNDS;
        System.out.println(run(rounds, BOUND_MILLIS));
        System.exit(0);
    }

    /**
     * Kills.
     *
     * @param rounds how many processes
     * @param boundMillis how long a call may go on after its peer was killed, in milliseconds
     * @return a summary
     */
    static String run(int rounds, long boundMillis) throws Exception {
        try (Companion companion = new Companion(); ServerSocket server = Neighbours.listen()) {
            Kills kills = new Kills(server, companion, boundMillis);
            server.setSoTimeout(TestBed.PATIENCE_MILLIS);
            companion.assertServes();
            Leftovers before = Leftovers.take(server.getLocalPort());
            long slowest = 0;
            for (int round = 0; round < rounds; round++) {
                long millis = kills.round(new Random(round), round % 2 == 0, before.mappings());
                slowest = Math.max(slowest, millis);
                // Things that the first round loads stay, such as the files of classes.
                before = round == 0 ? kept(before) : before;
                before.awaitAgain();
            }
            return rounds + " processes killed; the last call ended " + slowest + " ms after the kill at most; "
                    + "meanwhile " + companion.exchanges() + " exchanges with another process, all as sent; before: "
                    + before + "; left: " + Leftovers.take(server.getLocalPort());
        }
    }

    /** The same with the descriptors of now, once all else is as it was. */
    private static Leftovers kept(Leftovers before) throws Exception {
        Await.until("memory of a killed process to be freed", () -> {
            Leftovers now = Leftovers.take(before.port());
            return now.mappings() <= before.mappings() && now.names() <= before.names();
        });
        Leftovers now = Leftovers.take(before.port());
        assertTrue(now.descriptors() <= before.descriptors() + 8, () -> "before: " + before + ", left: " + now);
        return now;
    }

    /** One process: how long the last call took to end, in milliseconds. */
    private long round(Random random, boolean accept, long mappingsBefore) throws Exception {
        List<Socket> sockets = new ArrayList<>();
        try (Program peer = accept ? Program.java(KilledMain.class.getName(), "" + server.getLocalPort())
                : Program.java(KilledMain.class.getName())) {
            int port = Integer.parseInt(peer.awaitLine("listening"));
            for (int i = 0; i < KilledMain.CONNECTIONS; i++) {
                Socket socket = accept ? server.accept() : Neighbours.connect(port);
                sockets.add(socket);
                socket.getOutputStream().write(1);
            }
            peer.awaitLine("ready");
            assertTrue(Leftovers.names(port) > 0, "the process has no name to lose");
            assertTrue(Descriptors.sharedMappings() > mappingsBefore, "the process shares no memory");
            long millis = kill(peer, random, sockets);
            Await.until("the killed process's names to go", () -> Leftovers.names(port) == 0);
            companion.assertServes();
            return millis;
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private long kill(Program peer, Random random, List<Socket> sockets) throws Exception {
        AtomicLong flow = new AtomicLong();
        Attempt writer = Attempt.start("busy writer", () -> send(sockets.get(0).getOutputStream(), flow));
        Attempt reader = Attempt.start("busy reader", () -> receive(sockets.get(1).getInputStream(), flow));
        Attempt parked = Attempt.start("parked reader", sockets.get(2).getInputStream()::read);
        parked.awaitParked();
        long load = 1 + random.nextLong(MAX_LOAD_BYTES);
        Await.until("load", () -> {
            assertFalse(writer.isOver() || reader.isOver() || parked.isOver(),
                    () -> "ended early: " + writer + "; " + reader + "; " + parked + "; " + peer);
            return flow.get() >= load;
        });
        long killed = System.nanoTime();
        peer.kill();
        Socket idle = sockets.get(3);
        Attempt late = Attempt.start("late reader", idle.getInputStream()::read);
        long slowest = 0;
        for (Attempt attempt : List.of(writer, reader, parked, late)) {
            slowest = Math.max(slowest, assertEnds(attempt, killed));
        }
        Attempt lateWriter = Attempt.start("late writer", () -> send(idle.getOutputStream(), new AtomicLong()));
        slowest = Math.max(slowest, assertEnds(lateWriter, killed));
        assertFalse(peer.output().contains("early"), peer::output);
        assertEquals(137, peer.awaitEnd() & 0xff, "killed");
        return slowest;
    }

    /** As java.net ends a call whose peer has gone; how long after the kill, in milliseconds. */
    private long assertEnds(Attempt attempt, long killed) throws InterruptedException {
        Attempt.Outcome outcome = attempt.await(boundMillis);
        boolean reset = outcome.failure() instanceof SocketException
                && List.of("Connection reset", "Broken pipe").contains(outcome.failure().getMessage());
        assertTrue(reset || outcome.failure() == null && outcome.value() == -1, attempt::toString);
        long millis = outcome.millisSince(killed);
        assertTrue(millis <= boundMillis, () -> attempt + " took " + millis + " ms");
        return millis;
    }

    private static int send(OutputStream out, AtomicLong flow) throws IOException {
        int start = 0;
        while (true) {
            int count = Math.min(PIECE_BYTES, SoakTraffic.CONTENT.length - start);
            out.write(SoakTraffic.CONTENT, start, count);
            flow.addAndGet(count);
            start = (start + count) % SoakTraffic.CONTENT.length;
        }
    }

    private static int receive(InputStream in, AtomicLong flow) throws IOException {
        byte[] buffer = new byte[PIECE_BYTES];
        long received = 0;
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
            SoakTraffic.compare(buffer, count, received);
            received += count;
            flow.addAndGet(count);
        }
        return -1;
    }
}
