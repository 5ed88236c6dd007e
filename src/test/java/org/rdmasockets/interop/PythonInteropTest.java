package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An ordinary Python program, whose sockets librspreload turns into rsockets: 20 MB each way with checksums. */
@Tag("device")
class PythonInteropTest {
    private static final int BYTES = 20_000_000;

    @Test
    void javaServesAPythonClient() throws Exception {
        try (ServerSocket server = TestBed.listen();
                Program client = Program.python("transfer.py", "client", TestBed.address().getHostAddress(),
                        "" + server.getLocalPort(), "" + BYTES)) {
            try (Socket socket = server.accept()) {
                socket.setSoTimeout(TestBed.PATIENCE_MILLIS);
                QueuePairTable.assertConnected(client.pid());
                receive(socket);
                send(socket);
            }
            client.awaitSuccess();
        }
    }

    @Test
    void javaIsServedByAPythonServer() throws Exception {
        try (Program server = Program.python("transfer.py", "server", TestBed.address().getHostAddress(), "" + BYTES)) {
            try (Socket socket = TestBed.connect(Integer.parseInt(server.awaitLine("listening")))) {
                QueuePairTable.assertConnected(server.pid());
                send(socket);
                receive(socket);
            }
            server.awaitSuccess();
        }
    }

    private static void send(Socket socket) throws IOException, NoSuchAlgorithmException {
        byte[] data = new byte[BYTES];
        new Random(BYTES).nextBytes(data);
        socket.getOutputStream().write(data);
        socket.getOutputStream().write(MessageDigest.getInstance("SHA-256").digest(data));
    }

    private static void receive(Socket socket) throws IOException, NoSuchAlgorithmException {
        InputStream in = socket.getInputStream();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] buffer = new byte[1 << 17];
        for (int left = BYTES; left > 0;) {
            int count = in.read(buffer, 0, Math.min(left, buffer.length));
            if (count < 0) {
                throw new EOFException(left + " of " + BYTES + " bytes are missing");
            }
            digest.update(buffer, 0, count);
            left -= count;
        }
        assertArrayEquals(digest.digest(), in.readNBytes(32), "SHA-256 of what arrived");
    }
}
