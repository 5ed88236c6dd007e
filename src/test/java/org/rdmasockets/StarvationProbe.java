package org.rdmasockets;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;

/**
 * Measures how long others wait while pairs of virtual threads play ping-pong as fast as they can: a third connection,
 * an accept, and the end of a read timeout. The JDK's scheduler alone would let them wait for ever (JDK-8373118).
 *
 * <p>Run it in the test guest: {@code StarvationProbe ADDRESS [SECONDS [PAIRS]]}; it prints the maxima.
 */
final class StarvationProbe implements AutoCloseable {
    private static final int TIMEOUT_MILLIS = 100;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long WARM_UP_SECONDS = 2;
    private static final int MESSAGE_BYTES = 64;
    private static final int LIMIT_MILLIS = 200;

    private final InetAddress address;
    private final RdmaServerSocket listener;
    private final List<Closeable> sockets = new ArrayList<>();
    private final List<Call<Void>> calls = new ArrayList<>();
    private final LongAdder pingPongs = new LongAdder();
    private final LongAccumulator roundTrip = new LongAccumulator(Math::max, 0);
    private final LongAccumulator accept = new LongAccumulator(Math::max, 0);
    private final LongAccumulator timeout = new LongAccumulator(Math::max, 0);
    private volatile boolean stop;
    /** When accept gave the latest connection, by {@code System.nanoTime}. */
    private volatile long acceptedAt;

    private StarvationProbe(InetAddress address) throws IOException {
        this.address = address;
        this.listener = new RdmaServerSocket(0, 50, address);
        sockets.add(listener);
    }

    /**
     * The longest waits, in milliseconds.
     *
     * @param roundTrip of the third connection
     * @param accept from the client's being connected to accept's return
     * @param timeout beyond the read's timeout
     * @param pingPongsPerSecond of all pairs together
     */
    record Maxima(long roundTrip, long accept, long timeout, long pingPongsPerSecond) {
        long worst() {
            return Math.max(roundTrip, Math.max(accept, timeout));
        }
    }

    /**
     * Measures for a while.
     *
     * @param address of the device
     * @param seconds how long
     * @param pairs pairs of virtual threads that play ping-pong
     * @return the longest waits
     * @throws Exception if any of the connections failed
     */
    static Maxima measure(InetAddress address, int seconds, int pairs) throws Exception {
        try (StarvationProbe probe = new StarvationProbe(address)) {
            return probe.run(seconds, pairs);
        }
    }

    private Maxima run(int seconds, int pairs) throws Exception {
        for (int i = 0; i < pairs; i++) {
            startPingPong();
        }
        startRoundTrips();
        startTimeouts();
        startAccepts();
        LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(WARM_UP_SECONDS)); // compilers and set-up are not measured
        pingPongs.reset();
        for (LongAccumulator maximum : List.of(roundTrip, accept, timeout)) {
            maximum.reset();
        }
        long start = System.nanoTime();
        while (System.nanoTime() - start < TimeUnit.SECONDS.toNanos(seconds)) {
            LockSupport.parkNanos(PAUSE_NANOS);
            connectOnce();
        }
        stop = true;
        listener.close(); // ends accept
        for (Call<Void> call : calls) {
            call.result();
        }
        return new Maxima(millis(roundTrip), millis(accept), millis(timeout), pingPongs.sum() / seconds);
    }

    private static long millis(LongAccumulator nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos.get());
    }

    /** Two connected sockets: client and server. */
    private Socket[] pair() throws IOException {
        RdmaSocket client = new RdmaSocket(address, listener.getLocalPort());
        RdmaSocket server = listener.accept();
        sockets.add(client);
        sockets.add(server);
        return new Socket[] {client, server};
    }

    private void start(String what, Call.Action body) {
        calls.add(Call.run(ThreadKind.VIRTUAL, what, body));
    }

    private void startPingPong() throws IOException {
        Socket[] pair = pair();
        start("pong", () -> pair[1].getInputStream().transferTo(pair[1].getOutputStream()));
        start("ping", () -> {
            byte[] message = new byte[MESSAGE_BYTES];
            while (!stop) {
                pair[0].getOutputStream().write(message);
                pair[0].getInputStream().readNBytes(message, 0, MESSAGE_BYTES);
                pingPongs.increment();
            }
            pair[0].close();
        });
    }

    private void startRoundTrips() throws IOException {
        Socket[] pair = pair();
        start("echo", () -> pair[1].getInputStream().transferTo(pair[1].getOutputStream()));
        start("round trip", () -> {
            while (!stop) {
                long start = System.nanoTime();
                pair[0].getOutputStream().write(1);
                pair[0].getInputStream().read();
                roundTrip.accumulate(System.nanoTime() - start);
                LockSupport.parkNanos(PAUSE_NANOS);
            }
            pair[0].close();
        });
    }

    private void startTimeouts() throws IOException {
        Socket[] pair = pair();
        pair[0].setSoTimeout(TIMEOUT_MILLIS);
        start("timeout", () -> {
            while (!stop) {
                long start = System.nanoTime();
                try {
                    pair[0].getInputStream().read();
                    throw new AssertionError("nobody writes here");
                } catch (SocketTimeoutException e) {
                    timeout.accumulate(System.nanoTime() - start - TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS));
                }
            }
        });
    }

    private void startAccepts() {
        start("accept", () -> {
            try {
                while (true) {
                    Socket accepted = listener.accept();
                    acceptedAt = System.nanoTime();
                    accepted.getOutputStream().write(1); // the next connect comes after this
                    accepted.close();
                }
            } catch (SocketException e) {
                if (!stop) {
                    throw e;
                }
            }
        });
    }

    /** Called by a platform thread, whose own waits are not measured. */
    private void connectOnce() throws IOException {
        try (RdmaSocket client = new RdmaSocket()) {
            client.connect(listener.getLocalSocketAddress());
            long connectedAt = System.nanoTime();
            client.getInputStream().read();
            accept.accumulate(Math.max(0, acceptedAt - connectedAt));
        }
    }

    @Override
    public void close() throws IOException {
        stop = true;
        for (Closeable socket : sockets) {
            socket.close();
        }
    }

    /**
     * Prints the maxima; ends with status 1 if one is above the limit.
     *
     * @param args address of the device, seconds (10), pairs (2)
     */
    public static void main(String[] args) throws Exception {
        int seconds = args.length > 1 ? Integer.parseInt(args[1]) : 10;
        int pairs = args.length > 2 ? Integer.parseInt(args[2]) : 2;
        Maxima maxima = measure(InetAddress.ofLiteral(args[0]), seconds, pairs);
        System.out.printf("%d pairs, %d ping-pongs/s; longest waits: round trip %d ms, accept %d ms, timeout %d ms%n",
                pairs, maxima.pingPongsPerSecond(), maxima.roundTrip(), maxima.accept(), maxima.timeout());
        System.exit(maxima.worst() > LIMIT_MILLIS ? 1 : 0);
    }
}
