package org.rdmasockets.internal.doctor;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/**
 * One try of a transport to an address: connects that send nothing, and perhaps messages that an echo answers. To a
 * server that may be any, the time of the connect is the round trip that can be had: it asks and is answered once.
 *
 * @param transport the transport that was asked for
 * @param taken the transport that the connection has, with its reason; null if there is none
 * @param connectMicros the quickest connect, in microseconds; 0 if there is none
 * @param roundTrip the times of messages; null if none were sent or came back
 * @param noEcho why no message came back, or null
 * @param failure why there is no connection, or null
 */
record Route(Transport transport, Transport taken, long connectMicros, RoundTrip roundTrip, String noEcho,
        String failure) {
    private static final int TRIES = 3;
    private static final int TIMEOUT_MILLIS = 5_000;

    /** Tries each transport, and at the end the choice that a socket makes by itself; with messages if {@code ping}. */
    static List<Route> to(InetSocketAddress address, boolean ping) {
        List<Route> routes = new ArrayList<>();
        for (Transport transport : List.of(Transport.SHARED_MEMORY, Transport.IBVERBS, Transport.TCP, Transport.AUTO)) {
            Route route = to(address, transport);
            routes.add(ping && route.failure == null ? route.measured(address) : route);
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
                return new Route(transport, null, 0, null, null, why(e));
            }
        }
        return new Route(transport, taken, best / 1_000, null, null, null);
    }

    /** The same with the times of messages, over one more connection. */
    private Route measured(InetSocketAddress address) {
        try (RdmaSocket socket = new RdmaSocket()) {
            socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
            socket.connect(address, TIMEOUT_MILLIS);
            return new Route(transport, taken, connectMicros, RoundTrip.over(socket), null, null);
        } catch (IOException e) {
            return new Route(transport, taken, connectMicros, null, e.getMessage() + "; 'ping --echo PORT' there is a "
                    + "server that echoes", null);
        }
    }

    private static String why(Exception e) {
        if (e instanceof UnknownHostException) {
            return "no address is known of the host " + e.getMessage();
        }
        return e.getMessage() == null ? e.toString() : e.getMessage();
    }
}
