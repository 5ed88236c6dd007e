package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** A process with little memory to give: it accepts endpoints, receives messages, and says what has come of them. */
final class BudgetMain {
    private static final Duration PAUSE = Duration.ofMillis(20);

    private BudgetMain() {
    }

    /**
     * Serves until it is killed.
     *
     * @param arguments device and address
     */
    static void main(String[] arguments) throws Exception {
        try (RdmaEndpointServer server = RdmaEndpoint.builder().device(arguments[0])
                .listen(new InetSocketAddress(InetAddress.ofLiteral(arguments[1]), 0))) {
            System.out.println("listening " + server.localAddress().getPort());
            while (true) {
                RdmaEndpoint endpoint = server.accept();
                Thread.ofPlatform().daemon().start(() -> receive(endpoint));
            }
        }
    }

    /** Receives again and again: a message without memory is retried until there is some, or its sender is gone. */
    private static void receive(RdmaEndpoint endpoint) {
        String said = "";
        while (true) {
            try (Message message = endpoint.receive()) {
                System.out.println("received " + message.length() + " " + Arrays.hashCode(message.toArray()));
                endpoint.sendImmediate(1);
            } catch (EndpointException e) {
                if (e.reason() != EndpointException.Reason.LIMIT) {
                    System.out.println("over: " + e.getMessage());
                    endpoint.close();
                    return;
                }
                said = sayOnce(said, "limit: " + e.getMessage());
            } catch (IOException e) {
                said = sayOnce(said, "failed: " + e);
            }
            pause();
        }
    }

    private static String sayOnce(String said, String text) {
        if (said.isEmpty()) {
            System.out.println(text);
        }
        return text;
    }

    private static void pause() {
        try {
            TimeUnit.NANOSECONDS.sleep(PAUSE.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
