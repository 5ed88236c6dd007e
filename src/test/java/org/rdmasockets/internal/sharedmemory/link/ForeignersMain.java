package org.rdmasockets.internal.sharedmemory.link;

import java.net.InetAddress;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;

/** A listener and a client of it in one process, of a user whose directories others may have taken. */
final class ForeignersMain {
    private ForeignersMain() {
    }

    /** Exchanges a byte, and says over which transport. */
    public static void main(String[] arguments) throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket(0);
                RdmaSocket client = new RdmaSocket(InetAddress.getLoopbackAddress(), server.getLocalPort());
                java.net.Socket accepted = server.accept()) {
            client.getOutputStream().write(7);
            accepted.getOutputStream().write(accepted.getInputStream().read());
            if (client.getInputStream().read() == 7) {
                System.out.println("echoed over " + client.getOption(RdmaSocketOptions.TRANSPORT));
            }
        }
    }
}
