package org.rdmasockets.internal.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.RdmaServerSocket;

/**
 * Sends back all that comes, over every transport that there is. A connection ends on which nothing has come or gone
 * for 10 seconds, or 20 at most: its client is silent, or takes nothing.
 */
final class EchoServer {
    private static final Duration IDLE = Duration.ofSeconds(10);
    private static final int BUFFER_BYTES = 8192;
    /** Connections at a time; further ones are closed. */
    private static final int MOST = 64;

    private final int port;
    private final PrintStream out;
    private final Duration idle;
    private final Semaphore room = new Semaphore(MOST);

    /** A server that does not listen yet; port 0 takes a free one. */
    EchoServer(int port, PrintStream out) {
        this(port, out, IDLE);
    }

    /** The same with another time. */
    EchoServer(int port, PrintStream out, Duration idle) {
        this.port = port;
        this.out = out;
        this.idle = idle;
    }

    /** Listens and serves until the process ends; throws if the port cannot be had. */
    void serve() throws IOException {
        try (RdmaServerSocket server = new RdmaServerSocket(port)) {
            out.println("echoes on port " + server.getLocalPort() + " until it is interrupted");
            out.flush();
            while (true) {
                Socket accepted = server.accept();
                if (room.tryAcquire()) {
                    Thread.ofVirtual().start(() -> answer(accepted));
                } else {
                    accepted.close();
                }
            }
        }
    }

    private void answer(Socket accepted) {
        AtomicLong moves = new AtomicLong();
        Thread watcher = Thread.ofVirtual().start(() -> endWhenStill(accepted, moves));
        try (accepted) {
            accepted.setTcpNoDelay(true);
            InputStream in = accepted.getInputStream();
            byte[] buffer = new byte[BUFFER_BYTES];
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                moves.incrementAndGet();
                accepted.getOutputStream().write(buffer, 0, count);
                moves.incrementAndGet();
            }
        } catch (IOException e) {
            return; // its client has gone, or was still
        } finally {
            watcher.interrupt();
            room.release();
        }
    }

    /** No socket has a timeout for writes. */
    private void endWhenStill(Socket accepted, AtomicLong moves) {
        try {
            long seen = -1;
            while (moves.get() != seen) {
                seen = moves.get();
                Thread.sleep(idle);
            }
            accepted.close();
        } catch (InterruptedException | IOException e) {
            return; // it is over
        }
    }
}
