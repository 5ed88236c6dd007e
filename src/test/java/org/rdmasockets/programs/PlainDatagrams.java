package org.rdmasockets.programs;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketOption;

/** A program that knows nothing of this library: one datagram there and back, and how it says it went. */
final class PlainDatagrams {
    private static final int PATIENCE_MILLIS = 60_000;

    private PlainDatagrams() {
    }

    /**
     * Prints two lines.
     *
     * @param args the address to meet at
     * @throws IOException if a datagram does not come
     */
    public static void main(String[] args) throws IOException {
        InetAddress address = InetAddress.getByName(args[0]);
        try (DatagramSocket client = new DatagramSocket(0, address);
                DatagramSocket server = new DatagramSocket(new InetSocketAddress(address, 0))) {
            exchange(client, server);
            exchange(server, client);
            System.out.println("saw client: " + transport(client));
            System.out.println("saw server: " + transport(server));
        }
    }

    private static void exchange(DatagramSocket from, DatagramSocket to) throws IOException {
        to.setSoTimeout(PATIENCE_MILLIS);
        DatagramPacket packet = new DatagramPacket(new byte[] {1, 2, 3}, 3, to.getLocalSocketAddress());
        from.send(packet);
        to.receive(packet);
    }

    private static String transport(DatagramSocket socket) throws IOException {
        for (SocketOption<?> option : socket.supportedOptions()) {
            if (option.name().equals("TRANSPORT")) {
                return socket.getOption(option).toString().replaceFirst(" .*", "");
            }
        }
        return "that of java.net";
    }
}
