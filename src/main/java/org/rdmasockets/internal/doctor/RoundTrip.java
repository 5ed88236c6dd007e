package org.rdmasockets.internal.doctor;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Times of small messages that a server sends back, in nanoseconds.
 *
 * @param leastNanos the quickest
 * @param medianNanos half took no longer
 * @param mostOfHundredNanos 99 of 100 took no longer
 */
record RoundTrip(long leastNanos, long medianNanos, long mostOfHundredNanos) {
    /** Length of a message. */
    static final int MESSAGE_BYTES = 64;
    private static final int MOST = 20_000;
    /** So many are not counted, while the JVM compiles. */
    private static final int FIRST = 5_000;
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final int ANSWER_MILLIS = 2_000;
    private static final int LETTERS = 26;

    /**
     * Sends messages over a connection for 2 seconds at most, each when the one before has come back. Throws if one
     * does not come back as it was, or not within 2 seconds.
     */
    static RoundTrip over(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(ANSWER_MILLIS);
        OutputStream out = socket.getOutputStream();
        InputStream in = socket.getInputStream();
        byte[] sent = new byte[MESSAGE_BYTES];
        byte[] came = new byte[MESSAGE_BYTES];
        long[] nanos = new long[MOST];
        int count = 0;
        for (long begun = System.nanoTime(); count == 0 || count < MOST && System.nanoTime() - begun < LIMIT_NANOS;) {
            Arrays.fill(sent, (byte) ('a' + count % LETTERS));
            long start = System.nanoTime();
            out.write(sent);
            if (in.readNBytes(came, 0, MESSAGE_BYTES) < MESSAGE_BYTES) {
                throw new EOFException("the server has closed the connection");
            }
            nanos[count++] = System.nanoTime() - start;
            if (!Arrays.equals(sent, came)) {
                throw new IOException("the server answers something else");
            }
        }
        long[] counted = Arrays.copyOfRange(nanos, count > 2 * FIRST ? FIRST : count / 2, count);
        Arrays.sort(counted);
        return new RoundTrip(counted[0], counted[counted.length / 2], counted[counted.length * 99 / 100]);
    }
}
