package org.rdmasockets.internal.doctor;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** Has open connections until its input ends; each has carried some bytes and back. */
final class ConnectedMain {
    private static final int PATIENCE_MILLIS = 60_000;

    private ConnectedMain() {
    }

    /** No arguments for a server; else a port, then by turns a transport, or {@code plain}, and how many. */
    public static void main(String[] arguments) throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        List<Socket> open = Collections.synchronizedList(new ArrayList<>());
        if (arguments.length == 0) {
            ServerSocket server = new RdmaServerSocket(0, 200, loopback);
            Thread.ofPlatform().daemon().start(() -> acceptAll(server, open));
            System.out.println(server.getLocalPort());
        } else {
            int port = Integer.parseInt(arguments[0]);
            for (int i = 1; i < arguments.length; i += 2) {
                for (int k = 1; k <= Integer.parseInt(arguments[i + 1]); k++) {
                    open.add(exchange(connect(arguments[i], loopback, port), k));
                }
            }
            System.out.println("ready");
        }
        System.in.read();
        for (Socket each : List.copyOf(open)) {
            each.close();
        }
    }

    private static Socket connect(String transport, InetAddress host, int port) throws IOException {
        if (transport.equals("plain")) {
            return new Socket(host, port);
        }
        Socket socket = new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, new Transport(transport, ""));
        socket.connect(new InetSocketAddress(host, port), PATIENCE_MILLIS);
        return socket;
    }

    /** Sends so many bytes, and reads them back. */
    private static Socket exchange(Socket socket, int bytes) throws IOException {
        socket.setSoTimeout(PATIENCE_MILLIS);
        socket.getOutputStream().write(new byte[bytes]);
        if (socket.getInputStream().readNBytes(bytes).length != bytes) {
            throw new AssertionError("the end of the stream");
        }
        return socket;
    }

    private static void acceptAll(ServerSocket server, List<Socket> open) {
        try {
            while (true) {
                Socket accepted = server.accept();
                open.add(accepted);
                Thread.ofVirtual().start(() -> echo(accepted));
            }
        } catch (IOException e) {
            System.out.println("ends: " + e);
        }
    }

    private static void echo(Socket accepted) {
        try {
            accepted.getInputStream().transferTo(accepted.getOutputStream());
        } catch (IOException e) {
            return; // its client has ended
        }
    }
}
