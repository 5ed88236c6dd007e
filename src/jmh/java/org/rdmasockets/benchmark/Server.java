package org.rdmasockets.benchmark;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * The process that serves: one thread for each connection. Says its address on its output, answers {@code usage},
 * {@code compilers}, {@code footprint} and {@code rescues} there, and ends with its input, which is the death of the
 * client at the latest.
 */
final class Server implements AutoCloseable {
    private final Contender contender;
    private final Peer peer;
    private final Peer.Listener listener;

    Server(Contender contender) throws IOException {
        this.contender = contender;
        peer = contender.peer();
        listener = peer.listen();
        contender.threads().name("acceptor").start(this::acceptAll);
    }

    /**
     * Serves.
     *
     * @param arguments the contender's name
     */
    static void main(String[] arguments) throws IOException {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = System.out;
        try (Server server = new Server(Contender.valueOf(arguments[0]))) {
            answers.println(server.address());
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                answers.println(new Gson().toJson(answer(order)));
            }
        }
        System.exit(0);
    }

    private static Object answer(String order) throws IOException {
        return switch (order) {
            case "usage" -> Usage.now();
            case "compilers" -> Compilers.processorNanos();
            case "footprint" -> Footprint.now();
            case "rescues" -> Rescues.rescues();
            default -> throw new IllegalArgumentException("usage, compilers, footprint or rescues, not " + order);
        };
    }

    /** Where it is reached. */
    String address() {
        return listener.address();
    }

    private void acceptAll() {
        try {
            while (true) {
                Link link = listener.accept();
                if (contender.mostConnections() == 1) {
                    serve(link);
                } else {
                    contender.threads().start(() -> serve(link));
                }
            }
        } catch (IOException e) {
            // Closed: the end of the server.
        }
    }

    private static void serve(Link link) {
        try (link) {
            Service.serveOrder(link);
        } catch (IOException e) {
            System.err.println("server: " + e);
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        peer.close();
    }
}
