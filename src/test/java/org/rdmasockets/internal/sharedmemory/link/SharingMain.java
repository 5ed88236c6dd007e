package org.rdmasockets.internal.sharedmemory.link;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** One end of a test of users and containers, in a process of its own. */
final class SharingMain {
    private static final int PATIENCE_MILLIS = 60_000;

    private SharingMain() {
    }

    /** Arguments: serve or datagrams, with an address; or connect or send, with an address, a port and how often. */
    public static void main(String[] arguments) throws Exception {
        InetAddress host = InetAddress.ofLiteral(arguments[1]);
        switch (arguments[0]) {
            case "serve" -> serve(host);
            case "datagrams" -> answer(host);
            case "connect" -> connect(new InetSocketAddress(host, Integer.parseInt(arguments[2])),
                    Integer.parseInt(arguments[3]));
            default -> send(new InetSocketAddress(host, Integer.parseInt(arguments[2])));
        }
    }

    private static void serve(InetAddress host) throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket()) {
            server.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            server.bind(new InetSocketAddress(host, 0));
            Thread.ofPlatform().daemon().start(() -> acceptAll(server));
            System.out.println(server.getLocalPort());
            untilTheInputEnds();
        }
    }

    private static void acceptAll(RdmaServerSocket server) {
        try {
            while (true) {
                Socket accepted = server.accept();
                accepted.getOutputStream().write(accepted.getInputStream().read());
            }
        } catch (Exception e) {
            System.out.println("ends: " + e);
        }
    }

    private static void untilTheInputEnds() throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (orders.readLine() != null) {
            System.out.println(new java.io.File("/proc/self/fd").list().length);
        }
    }

    private static void answer(InetAddress host) throws Exception {
        try (DatagramSocket socket = new RdmaDatagramSocket(new InetSocketAddress(host, 0))) {
            System.out.println(socket.getLocalPort());
            DatagramPacket packet = new DatagramPacket(new byte[1], 1);
            socket.receive(packet);
            socket.send(packet);
            untilTheInputEnds();
        }
    }

    private static void connect(InetSocketAddress server, int times) throws Exception {
        List<RdmaSocket> open = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            RdmaSocket socket = new RdmaSocket();
            if (!Boolean.getBoolean("auto")) {
                socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            }
            try {
                socket.connect(server, PATIENCE_MILLIS);
            } catch (Exception e) {
                System.out.println(e);
                return;
            }
            open.add(socket);
            socket.getOutputStream().write(7);
            if (socket.getInputStream().read() != 7) {
                throw new AssertionError("another byte came back");
            }
        }
        System.out.println("echoed " + times + " over " + open.getLast().getOption(RdmaSocketOptions.TRANSPORT).name()
                + " from " + open.getLast().getLocalAddress().getHostAddress());
        System.in.read();
    }

    private static void send(InetSocketAddress to) throws Exception {
        try (DatagramSocket socket = new RdmaDatagramSocket()) {
            socket.setSoTimeout(PATIENCE_MILLIS);
            DatagramPacket packet = new DatagramPacket(new byte[] {7}, 1, to);
            socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            socket.send(packet);
            socket.receive(packet);
            System.out.println("echoed a datagram over " + socket.getOption(RdmaSocketOptions.TRANSPORT).name());
        } catch (Exception e) {
            System.out.println(e);
        }
    }
}
