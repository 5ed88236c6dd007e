package org.rdmasockets.internal.lock;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;

/** Connects five times within this process, as the default has it. */
public final class ConnectOnce implements Runnable {
    @Override
    public void run() {
        try (RdmaServerSocket server = new RdmaServerSocket()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            for (int i = 0; i < 5; i++) {
                try (RdmaSocket socket = new RdmaSocket()) {
                    socket.connect(server.getLocalSocketAddress(), 20_000);
                    server.accept().close();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
