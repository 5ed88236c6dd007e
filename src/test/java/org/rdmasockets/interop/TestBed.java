package org.rdmasockets.interop;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Objects;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;

/**
 * The environment of the device suites: the device and the address that {@code src/test/guest/test} names, and the kind
 * of socket. {@code -Dorg.rdmasockets.test.sockets=tcp} takes the JDK's sockets, where the same suites must pass as
 * well: that proves the suites.
 */
public final class TestBed {
    /**
     * How long anything may take that should take no time, in milliseconds: machines are slow under emulation, the more
     * so when their host is busy. Property {@code org.rdmasockets.test.patience} has it in seconds.
     */
    public static final int PATIENCE_MILLIS = 1000 * Integer.getInteger("org.rdmasockets.test.patience", 60);

    private static final int RETRY_MILLIS = 50;
    private static final boolean TCP = "tcp".equals(System.getProperty("org.rdmasockets.test.sockets"));

    private TestBed() {
    }

    /**
     * The RDMA device under test.
     *
     * @return its name, such as rxe0
     */
    public static String device() {
        return required("org.rdmasockets.test.device");
    }

    /**
     * Tells whether the device is soft-iWARP, which has TCP connections underneath.
     *
     * @return true for siw
     */
    public static boolean iwarp() {
        return device().startsWith("siw");
    }

    /**
     * Tells whether the JDK's own sockets stand in for RDMA.
     *
     * @return true if only the suite itself is being proven
     */
    public static boolean tcp() {
        return TCP;
    }

    /**
     * The address of the device under test.
     *
     * @return the address that servers bind and clients dial
     * @throws IOException if the property is no address
     */
    public static InetAddress address() throws IOException {
        return InetAddress.getByName(required("org.rdmasockets.test.address"));
    }

    /**
     * A socket of the kind under test.
     *
     * @return a new unconnected socket
     * @throws IOException if there can be none
     */
    public static Socket socket() throws IOException {
        return TCP ? new Socket() : new RdmaSocket();
    }

    /**
     * A listening socket of the kind under test.
     *
     * @return a server socket on a free port of {@link #address()}
     * @throws IOException if it cannot listen
     */
    public static ServerSocket listen() throws IOException {
        return listen(address());
    }

    /**
     * A listening socket of the kind under test.
     *
     * @param address where to listen
     * @return a server socket on a free port
     * @throws IOException if it cannot listen
     */
    public static ServerSocket listen(InetAddress address) throws IOException {
        ServerSocket server = TCP ? new ServerSocket() : new RdmaServerSocket();
        server.bind(new InetSocketAddress(address, 0));
        server.setSoTimeout(PATIENCE_MILLIS);
        return server;
    }

    /**
     * Connects.
     *
     * @param port a port of {@link #address()}
     * @return a connected socket whose reads end after {@link #PATIENCE_MILLIS}
     * @throws IOException if there is no connection
     */
    public static Socket connect(int port) throws IOException {
        return connect(new InetSocketAddress(address(), port));
    }

    /**
     * Connects.
     *
     * @param destination where to
     * @return a connected socket whose reads end after {@link #PATIENCE_MILLIS}
     * @throws IOException if there is no connection
     */
    public static Socket connect(InetSocketAddress destination) throws IOException {
        return connect(socket(), destination);
    }

    private static Socket connect(Socket socket, InetSocketAddress destination) throws IOException {
        try {
            socket.connect(destination, PATIENCE_MILLIS);
            socket.setSoTimeout(PATIENCE_MILLIS);
            return socket;
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    /**
     * Connects to a program that may not listen yet and does not say when it does.
     *
     * @param port a port of {@link #address()}
     * @param program the program, whose end ends the waiting
     * @return a connected socket
     * @throws IOException if it does not listen in time
     * @throws InterruptedException if interrupted
     */
    public static Socket connectOnceListening(int port, Program program) throws IOException, InterruptedException {
        return connectOnceListening(port, program, TestBed::socket);
    }

    /**
     * Connects to a program that may not listen yet and does not say when it does.
     *
     * @param port a port of {@link #address()}
     * @param program the program, whose end ends the waiting
     * @param maker makes the unconnected socket of each attempt
     * @return a connected socket
     * @throws IOException if it does not listen in time
     * @throws InterruptedException if interrupted
     */
    static Socket connectOnceListening(int port, Program program, Maker maker)
            throws IOException, InterruptedException {
        long deadline = System.nanoTime() + PATIENCE_MILLIS * 1_000_000L;
        while (true) {
            try {
                return connect(maker.make(), new InetSocketAddress(address(), port));
            } catch (ConnectException e) {
                if (System.nanoTime() > deadline || !program.isAlive()) {
                    throw new IOException("nobody listens on port " + port + ": " + program, e);
                }
            }
            Thread.sleep(RETRY_MILLIS);
        }
    }

    /** Makes sockets. */
    @FunctionalInterface
    interface Maker {
        /**
         * Makes one.
         *
         * @return a new unconnected socket
         * @throws IOException if there can be none
         */
        Socket make() throws IOException;
    }

    private static String required(String property) {
        return Objects.requireNonNull(System.getProperty(property),
                () -> property + " is not set; src/test/guest/test sets it");
    }
}
