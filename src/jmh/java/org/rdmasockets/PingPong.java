package org.rdmasockets;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A connection of this process to itself, and a virtual thread at its far end that sends back what it gets. The address
 * is {@code -Dorg.rdmasockets.test.address}, the loopback if that is not set.
 */
final class PingPong implements AutoCloseable {
    /** Instead of a transport: {@code java.net.Socket}. */
    static final String PLAIN = "java.net.Socket";

    private final ServerSocket server;
    private final Socket client;
    private final byte[] message;

    /** Prepares both sockets before they are used. */
    @FunctionalInterface
    interface Setting {
        /** Sets options. */
        void apply(Socket socket) throws IOException;
    }

    /**
     * Connects the two ends and starts the one that answers.
     *
     * @param transport {@link #PLAIN}, or a transport of RdmaSocket
     * @param bytes size of the message there and of the message back
     * @param setting for both ends
     */
    PingPong(String transport, int bytes, Setting setting) throws IOException {
        InetAddress address = InetAddress.getByName(System.getProperty("org.rdmasockets.test.address", "127.0.0.1"));
        if (transport.equals(PLAIN)) {
            server = new ServerSocket();
            client = new Socket();
        } else {
            Transport forced = new Transport(transport, "");
            server = new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, forced);
            client = new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, forced);
        }
        server.bind(new InetSocketAddress(address, 0), 1);
        message = new byte[bytes];
        Thread.startVirtualThread(() -> answer(setting));
        client.connect(server.getLocalSocketAddress());
        client.setTcpNoDelay(true);
        setting.apply(client);
    }

    /** One message there and back. */
    byte[] roundTrip() throws IOException {
        client.getOutputStream().write(message);
        readFully(client.getInputStream(), message);
        return message;
    }

    private void answer(Setting setting) {
        byte[] copy = new byte[message.length];
        try (Socket socket = server.accept()) {
            socket.setTcpNoDelay(true);
            setting.apply(socket);
            OutputStream out = socket.getOutputStream();
            while (true) {
                readFully(socket.getInputStream(), copy);
                out.write(copy);
            }
        } catch (IOException e) {
            // The client has closed: the trial is over.
        }
    }

    private static void readFully(InputStream in, byte[] into) throws IOException {
        if (in.readNBytes(into, 0, into.length) < into.length) {
            throw new EOFException("the other end closed");
        }
    }

    /** Ends both. */
    @Override
    public void close() throws IOException {
        client.close();
        server.close();
    }
}
