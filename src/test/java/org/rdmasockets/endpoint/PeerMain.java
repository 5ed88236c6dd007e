package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;

/** A process that accepts endpoints: it echoes messages, shares memory and takes back what is handed over. */
final class PeerMain {
    /** The size of the memory that it shares. */
    static final int SHARED_BYTES = 5000;

    private PeerMain() {
    }

    /**
     * Serves until it is killed.
     *
     * @param arguments device and address
     */
    static void main(String[] arguments) throws IOException {
        try (RdmaEndpointServer server = RdmaEndpoint.builder().device(arguments[0]).receiveBuffers(4, 1024)
                .listen(new InetSocketAddress(InetAddress.ofLiteral(arguments[1]), 0))) {
            System.out.println("listening " + server.localAddress().getPort());
            while (true) {
                RdmaEndpoint endpoint = server.accept();
                Thread.ofVirtual().start(() -> complain(endpoint, PeerMain::echo));
                Thread.ofVirtual().start(() -> complain(endpoint, PeerMain::share));
            }
        }
    }

    private interface Service {
        void on(RdmaEndpoint endpoint) throws IOException;
    }

    private static void complain(RdmaEndpoint endpoint, Service service) {
        try {
            service.on(endpoint);
        } catch (IOException e) {
            System.out.println(endpoint + ": " + e.getMessage());
        }
    }

    /** Echoes what has bytes; what has none stops it, so that its peer has no credit any more. */
    private static void echo(RdmaEndpoint endpoint) throws IOException {
        boolean more = true;
        while (more) {
            try (Message message = endpoint.receive()) {
                more = message.length() > 0;
                if (more) {
                    endpoint.send(message.region());
                }
            }
        }
    }

    /** Shares memory, and sends what is in it when it comes back. */
    private static void share(RdmaEndpoint endpoint) throws IOException {
        LocalRegion region = endpoint.allocate(SHARED_BYTES, 8,
                Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));
        endpoint.share(region, Duration.ofMinutes(5));
        try (LocalRegion back = endpoint.receiveHandedOver()) {
            endpoint.send(back);
        }
    }
}
