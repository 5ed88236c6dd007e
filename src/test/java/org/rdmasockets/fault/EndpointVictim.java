package org.rdmasockets.fault;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;

/** The part of {@link FaultNode} with endpoints: a server answers each connection once, and a victim asks it. */
final class EndpointVictim {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    private EndpointVictim() {
    }

    /** Listens, and answers for ever, on threads that are meant to fail: the port. */
    static int serve(Duration patience) throws IOException {
        RdmaEndpointServer server = RdmaEndpoint.builder().listen(new InetSocketAddress(LOOPBACK, 0));
        Thread.ofPlatform().daemon().name(InjectedFault.VICTIM).start(() -> {
            while (true) {
                try {
                    RdmaEndpoint endpoint = server.accept();
                    Thread.ofVirtual().name("answer").start(() -> answer(endpoint, patience));
                } catch (Throwable e) {
                    System.err.println("an endpoint is not accepted: " + e);
                }
            }
        });
        return server.localAddress().getPort();
    }

    private static void answer(RdmaEndpoint endpoint, Duration patience) {
        try (endpoint) {
            endpoint.sendImmediate(receive(endpoint, patience) + 1);
            receive(endpoint, patience); // the end: the other side has what it wants
        } catch (IOException e) {
            return;
        }
    }

    private static int receive(RdmaEndpoint endpoint, Duration patience) throws IOException {
        try (Message message = endpoint.receive(patience)) {
            return message.immediate().orElseThrow();
        }
    }

    /** Asks once, and tells how that went. */
    static String fare(int port, int question, Duration patience) {
        try (RdmaEndpoint endpoint = RdmaEndpoint.builder().connectTimeout(patience)
                .connect(new InetSocketAddress(LOOPBACK, port))) {
            endpoint.sendImmediate(question);
            int answer = receive(endpoint, patience);
            return answer == question + 1 ? "done" : "WRONG ANSWER " + answer;
        } catch (SocketTimeoutException e) {
            return "HUNG " + e;
        } catch (Throwable e) {
            return "failed: " + e;
        }
    }
}
