package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.Random;
import org.rdmasockets.interop.TestBed;

/** An echo server of this process, a virtual thread per connection, to show that others are still served. */
final class EchoService implements AutoCloseable {
    private static final int BYTES = 10_000;

    private final ServerSocket server;

    EchoService() throws IOException {
        this(TestBed.address());
    }

    EchoService(InetAddress address) throws IOException {
        server = TestBed.listen(address);
        Thread.ofVirtual().name("echo accepts").start(this::accept);
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket socket = server.accept();
                Thread.ofVirtual().name("echo").start(() -> echo(socket));
            } catch (SocketTimeoutException e) {
                continue;
            } catch (IOException e) {
                if (!server.isClosed()) {
                    System.err.println("the echo server ends: " + e);
                }
                return;
            }
        }
    }

    private static void echo(Socket socket) {
        try (socket) {
            socket.getInputStream().transferTo(socket.getOutputStream());
        } catch (IOException e) {
            return; // the client has gone; what it missed it reports itself
        }
    }

    /** A connection that echoes. */
    Socket connect() throws IOException {
        return TestBed.connect((InetSocketAddress) server.getLocalSocketAddress());
    }

    /** Connects, and gets back what it sends. */
    void assertServes() throws IOException {
        try (Socket socket = connect()) {
            assertServes(socket);
        }
    }

    /** Gets back what it sends over an open connection to this service. */
    static void assertServes(Socket socket) throws IOException {
        byte[] sent = new byte[BYTES];
        new Random(BYTES).nextBytes(sent);
        socket.getOutputStream().write(sent);
        assertArrayEquals(sent, socket.getInputStream().readNBytes(BYTES), "echo");
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
