package org.rdmasockets.internal.doctor;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/**
 * One try of a transport to an address: connects that send nothing.
 *
 * @param transport the transport that was asked for
 * @param taken the transport that the connection has, with its reason; null if there is none
 * @param connectMicros the quickest connect, in microseconds; 0 if there is none
 * @param failure why there is none, or null
 */
record Route(Transport transport, Transport taken, long connectMicros, String failure) {
    private static final int TRIES = 3;
    private static final int TIMEOUT_MILLIS = 5_000;

    /** Tries each transport, and at the end the choice that a socket makes by itself. */
    static List<Route> to(InetSocketAddress address) {
        List<Route> routes = new ArrayList<>();
        for (Transport transport : List.of(Transport.SHARED_MEMORY, Transport.IBVERBS, Transport.TCP, Transport.AUTO)) {
            routes.add(to(address, transport));
        }
        return routes;
    }

    private static Route to(InetSocketAddress address, Transport transport) {
        long best = Long.MAX_VALUE;
        Transport taken = null;
        for (int i = 0; i < TRIES; i++) {
            try (RdmaSocket socket = new RdmaSocket()) {
                socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
                long start = System.nanoTime();
                socket.connect(address, TIMEOUT_MILLIS);
                best = Math.min(best, System.nanoTime() - start);
                taken = socket.getOption(RdmaSocketOptions.TRANSPORT);
            } catch (IOException | RuntimeException e) {
                return new Route(transport, null, 0, why(e, transport));
            }
        }
        return new Route(transport, taken, best / 1_000, null);
    }

    private static String why(Exception e, Transport transport) {
        if (e instanceof UnknownHostException) {
            return "no address is known of the host " + e.getMessage();
        }
        boolean refused = e instanceof ConnectException && transport.is(Transport.SHARED_MEMORY);
        return (e.getMessage() == null ? e.toString() : e.getMessage()) + (refused ? "; no process that shares memory "
                + "with this one listens there with an RdmaServerSocket" : "");
    }
}
