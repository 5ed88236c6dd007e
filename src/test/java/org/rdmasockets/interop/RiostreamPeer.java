package org.rdmasockets.interop;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.RdmaBuffer;
import org.rdmasockets.RdmaSocket;

/**
 * One end of riostream's application protocol: each maps a buffer at offset 0, then both send 16 bytes, then they write
 * into each other's buffer in turn. The last byte of a buffer is a marker, which counts 0, 1, 2 over both directions:
 * who finds it there has the whole message. The other bytes of the last message of a turn are the next values of a
 * counter per direction, as {@code riostream -T v} sends and checks them. One thread.
 */
final class RiostreamPeer {
    private static final int SYNC_BYTES = 16;
    private static final byte NO_MARKER = -1;
    private static final VarHandle BYTE = JAVA_BYTE.varHandle();

    private final RdmaSocket socket;
    private final int messageBytes;
    private final RdmaBuffer received;
    private final RdmaBuffer sent;
    private byte marker;
    /** The next value to send, and the next to expect. */
    private byte sendCounter;
    private byte receiveCounter;

    /**
     * Maps the buffer, which the program at the other end does as well.
     *
     * @param socket a connection that takes a map
     * @param messageBytes size of a message ({@code -S}), at least 2
     */
    RiostreamPeer(RdmaSocket socket, int messageBytes) throws IOException {
        this.socket = socket;
        this.messageBytes = messageBytes;
        received = socket.map(messageBytes, 0);
        received.segment().set(JAVA_BYTE, messageBytes - 1, NO_MARKER);
        sent = socket.allocateBuffer(messageBytes);
        sent.segment().set(JAVA_BYTE, messageBytes - 1, NO_MARKER);
    }

    /**
     * The client's part.
     *
     * @param iterations {@code -I}
     * @param messages messages per iteration and direction, {@code -C}
     */
    void runClient(int iterations, int messages) throws IOException {
        socket.getOutputStream().write(new byte[SYNC_BYTES]);
        awaitSync();
        for (int i = 0; i < iterations; i++) {
            send(messages);
            receive();
        }
    }

    /**
     * The server's part.
     *
     * @param iterations {@code -I}
     * @param messages messages per iteration and direction, {@code -C}
     */
    void runServer(int iterations, int messages) throws IOException {
        awaitSync();
        socket.getOutputStream().write(new byte[SYNC_BYTES]);
        for (int i = 0; i < iterations; i++) {
            receive();
            send(messages);
        }
    }

    private void awaitSync() throws IOException {
        assertEquals(SYNC_BYTES, socket.getInputStream().readNBytes(SYNC_BYTES).length);
    }

    private void send(int messages) throws IOException {
        for (int i = 1; i < messages; i++) {
            socket.place(0, sent, 0, messageBytes);
        }
        for (int i = 0; i < messageBytes - 1; i++) {
            sent.segment().set(JAVA_BYTE, i, sendCounter++);
        }
        sent.segment().set(JAVA_BYTE, messageBytes - 1, marker++);
        socket.place(0, sent, 0, messageBytes);
    }

    /** Looks at the marker, as the program does, because nothing tells that the message has come. */
    private void receive() {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TestBed.PATIENCE_MILLIS);
        while ((byte) BYTE.getAcquire(received.segment(), (long) messageBytes - 1) != marker) {
            assertTrue(System.nanoTime() < deadline, () -> "marker " + marker + " never came");
            Thread.onSpinWait();
        }
        marker++;
        for (int i = 0; i < messageBytes - 1; i++) {
            assertEquals(receiveCounter++, received.segment().get(JAVA_BYTE, i), "byte " + i);
        }
    }
}
