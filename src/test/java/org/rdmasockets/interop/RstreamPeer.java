package org.rdmasockets.interop;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;

/**
 * One end of rstream's application protocol: both sides send 16 bytes, then in each iteration the client sends its
 * messages and the server answers with as many. Every byte is the next value of one counter per direction, across
 * message borders, as {@code rstream -T v} sends and checks it. One thread at a time.
 */
final class RstreamPeer {
    private static final int SYNC_BYTES = 16;

    private final InputStream in;
    private final OutputStream out;
    private final int messageBytes;
    private final boolean verify;
    private final byte[] received;

    /** The counter's values for any message from any start: byte i is i. */
    private final byte[] pattern;

    /** The next value to send, and the next to expect. */
    private int sendCounter;
    private int receiveCounter;

    /** Whether nothing is left but to receive. */
    private boolean sentAll;

    /**
     * @param socket the connection, with a read timeout
     * @param messageBytes size of a message ({@code -S})
     * @param verify whether what arrives is checked ({@code -T v})
     */
    RstreamPeer(Socket socket, int messageBytes, boolean verify) throws IOException {
        in = socket.getInputStream();
        out = socket.getOutputStream();
        this.messageBytes = messageBytes;
        this.verify = verify;
        received = new byte[Math.max(messageBytes, SYNC_BYTES)];
        pattern = new byte[256 + received.length];
        for (int i = 0; i < pattern.length; i++) {
            pattern[i] = (byte) i;
        }
    }

    /**
     * The client's part.
     *
     * @param iterations {@code -I}
     * @param messages messages per iteration and direction, {@code -C}
     * @return how long it took after the first exchange, in nanoseconds
     */
    long runClient(int iterations, int messages) throws IOException {
        send(SYNC_BYTES);
        receive(SYNC_BYTES);
        long start = System.nanoTime();
        for (int i = 0; i < iterations; i++) {
            sendAll(messages);
            sentAll = i == iterations - 1;
            receiveAll(messages);
        }
        return System.nanoTime() - start;
    }

    /**
     * Tells where {@link #runClient} has come to.
     *
     * @return true once all was sent and all but the last iteration's answers received
     */
    boolean receivesTheLast() {
        return sentAll;
    }

    /**
     * The server's part.
     *
     * @param iterations {@code -I}
     * @param messages messages per iteration and direction, {@code -C}
     */
    void runServer(int iterations, int messages) throws IOException {
        receive(SYNC_BYTES);
        send(SYNC_BYTES);
        for (int i = 0; i < iterations; i++) {
            receiveAll(messages);
            sendAll(messages);
        }
    }

    private void sendAll(int messages) throws IOException {
        for (int i = 0; i < messages; i++) {
            send(messageBytes);
        }
    }

    private void receiveAll(int messages) throws IOException {
        for (int i = 0; i < messages; i++) {
            receive(messageBytes);
        }
    }

    private void send(int bytes) throws IOException {
        out.write(pattern, sendCounter, bytes);
        sendCounter = (sendCounter + bytes) & 255;
    }

    private void receive(int bytes) throws IOException {
        int read = in.readNBytes(received, 0, bytes);
        int wrong = verify ? Arrays.mismatch(received, 0, read, pattern, receiveCounter, receiveCounter + read) : -1;
        if (wrong >= 0) {
            throw new IOException("byte " + wrong + " of a message of " + bytes + " is " + received[wrong]
                    + ", not " + pattern[receiveCounter + wrong]);
        }
        if (read < bytes) {
            throw new EOFException("the stream ended after " + read + " of " + bytes + " bytes");
        }
        receiveCounter = (receiveCounter + bytes) & 255;
    }
}
