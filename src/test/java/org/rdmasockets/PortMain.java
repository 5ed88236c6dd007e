package org.rdmasockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** A JVM that makes many connections to a port, over shared memory and over TCP, and keeps them until it is told. */
final class PortMain {
    private PortMain() {
    }

    /** Connects to the port of the first argument, as often as the second says over each transport. */
    public static void main(String[] arguments) throws IOException {
        InetSocketAddress server = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"),
                Integer.parseInt(arguments[0]));
        List<RdmaSocket> kept = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            for (Transport transport : new Transport[] {Transport.SHARED_MEMORY, Transport.TCP}) {
                RdmaSocket socket = new RdmaSocket();
                socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
                socket.connect(server);
                kept.add(socket);
            }
        }
        System.in.read();
        System.exit(kept.size() == 0 ? 1 : 0);
    }
}
