package org.rdmasockets.fault;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.StreamKind;

/** A process that ends without closing: {@code WAY HOST PORT KIND BYTES}; KIND is a stream kind or java. */
final class ExitMain {
    /** In a hook, every so many bytes are answered by one. */
    static final int ANSWERED = 1_000;

    private ExitMain() {
    }

    static void main(String[] arguments) throws Exception {
        String host = arguments[1];
        int port = Integer.parseInt(arguments[2]);
        String kind = arguments[3];
        int bytes = Integer.parseInt(arguments[4]);
        switch (arguments[0]) {
            case "returns" -> write(connect(kind, host, port), bytes);
            case "exits" -> {
                write(connect(kind, host, port), bytes);
                System.exit(0);
            }
            case "dies" -> {
                write(connect(kind, host, port), bytes);
                Runtime.getRuntime().halt(0);
            }
            case "firstInHook" -> Runtime.getRuntime().addShutdownHook(new Thread(() -> writeInHook(kind, host, port,
                    bytes)));
            case "writesInHook" -> {
                Socket socket = connect(kind, host, port);
                write(socket, bytes / 2);
                Runtime.getRuntime().addShutdownHook(new Thread(() -> exchangeInHook(socket, bytes - bytes / 2)));
            }
            case "outlivesPeer" -> {
                Socket socket = connect(kind, host, port);
                write(socket, bytes);
                socket.getInputStream().read(); // the end: the peer has closed
            }
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static Socket connect(String kind, String host, int port) throws IOException {
        if (kind.equals("java")) {
            return new Socket(host, port);
        }
        RdmaSocket socket = new RdmaSocket();
        socket.setOption(RdmaSocketOptions.STREAM_KIND, StreamKind.valueOf(kind));
        socket.connect(new InetSocketAddress(host, port));
        return socket;
    }

    private static void write(Socket socket, int bytes) throws IOException {
        socket.getOutputStream().write(new byte[bytes]);
    }

    private static void writeInHook(String kind, String host, int port, int bytes) {
        try (Socket socket = connect(kind, host, port)) {
            write(socket, bytes);
        } catch (IOException e) {
            System.out.println("failed: " + e);
        }
    }

    /** Does what a graceful shutdown does: it goes on to talk, after the library's own hook has run, perhaps. */
    private static void exchangeInHook(Socket socket, int bytes) {
        try {
            for (int i = 0; i < bytes; i++) {
                socket.getOutputStream().write(0);
                if (i % ANSWERED == 0 && socket.getInputStream().read() < 0) {
                    throw new SocketException("ended");
                }
            }
        } catch (IOException e) {
            System.out.println("failed: " + e);
        }
    }
}
