package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;

/** One side ends its half, the other sees the end of the stream and can still answer: with peers in C and in Java. */
@Tag("device")
class HalfCloseTest {
    private static final int BYTES = 1_000_000;

    @Test
    void aPeerInCAnswersAfterOurHalfIsClosed() throws Exception {
        try (Program peer = Program.python("halfclose.py", "second", TestBed.address().getHostAddress());
                Socket socket = TestBed.connect(Integer.parseInt(peer.awaitLine("listening")))) {
            closeFirst(socket);
            peer.awaitSuccess();
        }
    }

    @Test
    void weAnswerAfterAPeerInCHasClosedItsHalf() throws Exception {
        try (ServerSocket server = TestBed.listen();
                Program peer = Program.python("halfclose.py", "first", TestBed.address().getHostAddress(),
                        "" + server.getLocalPort(), "" + BYTES)) {
            try (Socket socket = server.accept()) {
                socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
                answerAtTheEnd(socket);
            }
            peer.awaitSuccess();
        }
    }

    @Test
    void aPeerInJavaAnswersAfterOurHalfIsClosed() throws Exception {
        try (ServerSocket server = TestBed.listen();
                Socket socket = TestBed.connect(server.getLocalPort());
                Socket peer = server.accept()) {
            Attempt answer = Attempt.start("answer", () -> answerAtTheEnd(peer));
            closeFirst(socket);
            assertEquals(BYTES, answer.await(TestBed.PATIENCE_MILLIS).value());
        }
    }

    private static void closeFirst(Socket socket) throws IOException, NoSuchAlgorithmException {
        byte[] sent = new byte[BYTES];
        new Random(BYTES).nextBytes(sent);
        socket.getOutputStream().write(sent);
        socket.shutdownOutput();
        SocketException refused = assertThrows(SocketException.class, () -> socket.getOutputStream().write(1));
        assertEquals("Socket output is shutdown", refused.getMessage());
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(sent);
        assertArrayEquals(digest, socket.getInputStream().readNBytes(digest.length), "SHA-256 of what the peer got");
        assertArrayEquals(sent, socket.getInputStream().readNBytes(BYTES), "what came back");
        assertEquals(-1, socket.getInputStream().read(), "end of the stream");
    }

    /** Reads to the end, and sends back digest and data; the number of bytes that came. */
    private static int answerAtTheEnd(Socket socket) throws IOException {
        ByteArrayOutputStream received = new ByteArrayOutputStream();
        socket.getInputStream().transferTo(received);
        try {
            socket.getOutputStream().write(MessageDigest.getInstance("SHA-256").digest(received.toByteArray()));
        } catch (NoSuchAlgorithmException e) {
            throw new IOException(e);
        }
        received.writeTo(socket.getOutputStream());
        socket.shutdownOutput();
        return received.size();
    }
}
