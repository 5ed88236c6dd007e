package org.rdmasockets.internal.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.Socket;
import java.util.concurrent.Semaphore;
import org.rdmasockets.RdmaServerSocket;

/** Sends back all that comes, over every transport that there is. A connection that is silent for 10 seconds ends. */
final class EchoServer {
    private static final int IDLE_MILLIS = 10_000;
    private static final int BUFFER_BYTES = 8192;
    /** Connections at a time; further ones are closed. */
    private static final int MOST = 64;

    private final int port;
    private final PrintStream out;
    private final Semaphore room = new Semaphore(MOST);

    /** A server that does not listen yet; port 0 takes a free one. */
    EchoServer(int port, PrintStream out) {
        this.port = port;
        this.out = out;
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
        try (accepted) {
            accepted.setTcpNoDelay(true);
            accepted.setSoTimeout(IDLE_MILLIS);
            InputStream in = accepted.getInputStream();
            byte[] buffer = new byte[BUFFER_BYTES];
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                accepted.getOutputStream().write(buffer, 0, count);
            }
        } catch (IOException e) {
            return; // its client has gone, or is silent
        } finally {
            room.release();
        }
    }
}
