// Sends each datagram back, or sends some and counts the answers, and tells how they travel.
// Usage: UdpEcho [PORT], or UdpEcho HOST PORT COUNT

import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;

void main(String[] args) {
    try {
        if (args.length == 3) {
            ask(new InetSocketAddress(args[0], Integer.parseInt(args[1])), Integer.parseInt(args[2]));
        } else {
            echo(args.length > 0 ? Integer.parseInt(args[0]) : 7777);
        }
    } catch (IOException e) {
        System.err.println(e.getMessage());
        System.exit(1);
    }
}

void echo(int port) throws IOException {
    try (RdmaDatagramSocket socket = new RdmaDatagramSocket(port)) {
        IO.println("port " + socket.getLocalPort());
        DatagramPacket packet = new DatagramPacket(new byte[65_535], 65_535);
        String told = "";
        while (true) {
            socket.receive(packet);
            socket.send(packet);
            String way = packet.getSocketAddress() + " over " + socket.getOption(RdmaSocketOptions.TRANSPORT);
            if (!way.equals(told)) {
                told = way;
                IO.println(way);
            }
        }
    }
}

void ask(InetSocketAddress server, int count) throws IOException {
    try (RdmaDatagramSocket socket = new RdmaDatagramSocket()) {
        socket.connect(server);
        socket.setSoTimeout(1000);
        DatagramPacket packet = new DatagramPacket(new byte[64], 64);
        int answers = 0;
        for (int i = 0; i < count; i++) {
            socket.send(packet);
            try {
                socket.receive(packet);
                answers++;
            } catch (SocketTimeoutException e) {
                continue; // a datagram may be lost
            }
        }
        IO.println(answers + " of " + count + " answers, over " + socket.getOption(RdmaSocketOptions.TRANSPORT));
    }
}
