package org.rdmasockets.fault;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.interop.TestBed;

/**
 * Connections that carry random amounts in pieces of random size both ways at once, each in four virtual threads, and
 * are replaced by new ones when they have. Every byte is compared with what was sent.
 */
final class SoakTraffic {
    private static final int MAX_PIECE_BYTES = 200_000;
    private static final long MAX_BYTES = 32L << 20;

    /** Sent over and over; a prime length, so that what is lost, doubled or swapped shows as a mismatch. */
    static final byte[] CONTENT = new byte[1_048_573];

    static {
        new Random(1).nextBytes(CONTENT);
    }

    private final ServerSocket server;
    private final long deadlineNanos;
    private final Attempt[] lanes;
    private final List<String> complaints = new CopyOnWriteArrayList<>();
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong connections = new AtomicLong();

    /**
     * Starts.
     *
     * @param server listens; connections are made and accepted one at a time
     * @param count connections at once
     * @param deadlineNanos no new connection after this {@code System.nanoTime}
     */
    SoakTraffic(ServerSocket server, int count, long deadlineNanos) {
        this.server = server;
        this.deadlineNanos = deadlineNanos;
        lanes = new Attempt[count];
        for (int i = 0; i < count; i++) {
            int seed = i;
            lanes[i] = Attempt.start("lane " + i, () -> run(new Random(seed)));
        }
    }

    boolean isHealthy() {
        return complaints.isEmpty();
    }

    /** Waits for the last connection; what went wrong. */
    List<String> awaitEnd() throws InterruptedException {
        for (Attempt lane : lanes) {
            Attempt.Outcome outcome = lane.await(4L * TestBed.PATIENCE_MILLIS);
            if (outcome.failure() != null) {
                complaints.add("a connection could not be made: " + outcome.failure());
            }
        }
        return complaints;
    }

    private int run(Random random) throws IOException {
        while (System.nanoTime() < deadlineNanos && isHealthy()) {
            Socket client = TestBed.socket();
            try (client; Socket accepted = connect(client)) {
                accepted.setSoTimeout(TestBed.PATIENCE_MILLIS);
                client.setSoTimeout(TestBed.PATIENCE_MILLIS);
                connections.incrementAndGet();
                exchange(client, accepted, random);
            }
        }
        return 0;
    }

    /** One at a time, so that the accepted end belongs to the connecting one. */
    private synchronized Socket connect(Socket client) throws IOException {
        client.connect(new InetSocketAddress(TestBed.address(), server.getLocalPort()), TestBed.PATIENCE_MILLIS);
        return server.accept();
    }

    private void exchange(Socket client, Socket accepted, Random random) {
        long there = random.nextLong(MAX_BYTES);
        long back = random.nextLong(MAX_BYTES);
        Attempt[] parts = {write(client, there, random.nextLong()), read(accepted, there, random.nextLong()),
            write(accepted, back, random.nextLong()), read(client, back, random.nextLong())};
        for (Attempt part : parts) {
            try {
                part.await(TimeUnit.MINUTES.toMillis(5));
            } catch (InterruptedException | AssertionError e) {
                complaints.add(e.toString());
            }
        }
    }

    private Attempt write(Socket socket, long total, long seed) {
        return Attempt.start("writer", () -> complain(() -> {
            Random random = new Random(seed);
            OutputStream out = socket.getOutputStream();
            for (long sent = 0; sent < total;) {
                int start = (int) (sent % CONTENT.length);
                int piece = (int) Math.min(size(random), Math.min(total - sent, CONTENT.length - start));
                out.write(CONTENT, start, piece);
                sent += piece;
            }
            socket.shutdownOutput();
            return 0;
        }));
    }

    private Attempt read(Socket socket, long total, long seed) {
        return Attempt.start("reader", () -> complain(() -> {
            Random random = new Random(seed);
            InputStream in = socket.getInputStream();
            byte[] buffer = new byte[MAX_PIECE_BYTES];
            long received = 0;
            for (int count = in.read(buffer, 0, size(random)); count >= 0; count = in.read(buffer, 0, size(random))) {
                compare(buffer, count, received);
                received += count;
                bytes.addAndGet(count);
            }
            if (received != total) {
                throw new IOException("got " + received + " of " + total + " bytes");
            }
            return 0;
        }));
    }

    private int complain(Attempt.Call call) {
        try {
            return call.run();
        } catch (IOException e) {
            complaints.add(e.toString());
            return -1;
        }
    }

    /** Mostly small, sometimes large. */
    private static int size(Random random) {
        return 1 + random.nextInt(1 + random.nextInt(MAX_PIECE_BYTES));
    }

    /** Compares the bytes received with the content, which is sent over and over, from a position on. */
    static void compare(byte[] received, int count, long position) throws IOException {
        int start = (int) (position % CONTENT.length);
        int first = Math.min(count, CONTENT.length - start);
        if (Arrays.mismatch(received, 0, first, CONTENT, start, start + first) >= 0
                || Arrays.mismatch(received, first, count, CONTENT, 0, count - first) >= 0) {
            throw new IOException("wrong bytes after " + position);
        }
    }

    @Override
    public String toString() {
        return (bytes.get() >> 20) + " MB over " + connections + " connections";
    }
}
