package org.rdmasockets.guard;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;

/**
 * A program that connects, waits for one answer, and ends: what a JVM that starts has to do for that. It has nothing
 * that would cost the JVM anything else, so no lambda and no text but a number.
 */
public final class FirstAnswer {
    /** For the argument that asks for {@code RdmaSocket}. */
    public static final String RDMA = "rdma";
    /** For the argument that asks for {@code java.net.Socket}. */
    public static final String PLAIN = "plain";
    private static final int BYTES = 64;

    private FirstAnswer() {
    }

    /**
     * Says how long the connect took, and how long that and the answer took, in microseconds, and ends at once.
     *
     * @param arguments {@link #RDMA} or {@link #PLAIN} and a port on {@link #host}; or {@code train}: connect to
     *        another process and let it connect, over both, and end as programs do, so that the JVM can write a cache
     */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 1) {
            Other.train();
            return;
        }
        long begin = System.nanoTime();
        Socket socket = arguments[0].equals(RDMA) ? new RdmaSocket() : new Socket();
        socket.connect(new InetSocketAddress(host(), Integer.parseInt(arguments[1])));
        long connected = System.nanoTime();
        exchange(socket);
        long answered = System.nanoTime();
        System.out.println((connected - begin) / 1_000);
        System.out.println((answered - begin) / 1_000);
        Runtime.getRuntime().halt(0);
    }

    /**
     * Where servers listen.
     *
     * @return {@code -Dorg.rdmasockets.test.address}, or the loopback address
     * @throws IOException if that is no address
     */
    public static InetAddress host() throws IOException {
        return InetAddress.getByName(System.getProperty("org.rdmasockets.test.address", "127.0.0.1"));
    }

    private static void exchange(Socket socket) throws IOException {
        socket.getOutputStream().write(new byte[BYTES]);
        if (socket.getInputStream().readNBytes(BYTES).length < BYTES) {
            throw new IOException("the server closed before it answered");
        }
    }

    /**
     * Answers one connection after the other, until the socket is closed.
     *
     * @param server a listening socket
     * @throws IOException when it is closed
     */
    public static void serve(ServerSocket server) throws IOException {
        while (true) {
            try (Socket socket = server.accept()) {
                answer(socket);
            }
        }
    }

    private static void answer(Socket socket) {
        try {
            socket.getOutputStream().write(socket.getInputStream().readNBytes(BYTES));
            socket.getInputStream().read();
        } catch (IOException e) {
            return; // the client has ended, as it does
        }
    }

    /** The other process, and who starts it; apart, so that the program above does not load servers. */
    static final class Other {
        private Other() {
        }

        /**
         * Starts this program again, in a process that serves, and connects to it; and then it to this one: who only
         * connects loads a little that who has listened does not.
         */
        static void train() throws IOException {
            Process other = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(),
                    "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                    Other.class.getName()).start();
            try (BufferedReader answers = other.inputReader(); Writer orders = other.outputWriter()) {
                connect(answers.readLine());
                accept(orders);
            } finally {
                other.destroy();
            }
        }

        private static void connect(String port) throws IOException {
            try (Socket socket = new RdmaSocket(host(), Integer.parseInt(port))) {
                exchange(socket);
            }
        }

        /** Answers one client, who is told the port. */
        private static void accept(Writer client) throws IOException {
            try (ServerSocket server = new RdmaServerSocket()) {
                server.bind(new InetSocketAddress(host(), 0));
                client.write(server.getLocalPort() + "\n");
                client.flush();
                answer(server);
            }
        }

        private static void answer(ServerSocket server) throws IOException {
            try (Socket socket = server.accept()) {
                FirstAnswer.answer(socket);
            }
        }

        /**
         * Says its port, answers, and connects to the port that it is told.
         *
         * @param arguments none
         */
        public static void main(String[] arguments) throws IOException {
            try (ServerSocket server = new RdmaServerSocket()) {
                server.bind(new InetSocketAddress(host(), 0));
                System.out.println(server.getLocalPort());
                answer(server);
                connect(new BufferedReader(new InputStreamReader(System.in)).readLine());
            }
        }
    }
}
