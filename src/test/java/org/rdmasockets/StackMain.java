package org.rdmasockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** A JVM that may have addresses of version 4 only: what sockets say to those of version 6. */
final class StackMain {
    private static final InetAddress SIX = InetAddress.ofLiteral("::1");

    private StackMain() {
    }

    /** Prints an outcome a line, first of java.net's own sockets, then of ours over each transport. */
    public static void main(String[] arguments) throws IOException {
        tell("java.net", new Socket(), new Socket(), new ServerSocket(), new ServerSocket());
        for (Transport transport : new Transport[] {Transport.AUTO, Transport.TCP, Transport.SHARED_MEMORY}) {
            tell(transport.name(), socket(transport), socket(transport), server(transport), server(transport));
        }
        System.exit(0);
    }

    private static Socket socket(Transport transport) throws IOException {
        return new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, transport);
    }

    private static ServerSocket server(Transport transport) throws IOException {
        return new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, transport);
    }

    private static void tell(String family, Socket connecting, Socket binding, ServerSocket six, ServerSocket any)
            throws IOException {
        any.bind(null);
        say(family + " connect", connecting, () -> connecting.connect(new InetSocketAddress(SIX, any.getLocalPort())));
        say(family + " bind", binding, () -> binding.bind(new InetSocketAddress(SIX, 0)));
        say(family + " listen", six, () -> six.bind(new InetSocketAddress(SIX, 0)));
        if (!family.equals("java.net")) {
            System.out.println(any.getLocalPort());
            System.in.read();
        }
    }

    /** A trial that may fail. */
    private interface Trial {
        void run() throws IOException;
    }

    private static void say(String what, Object socket, Trial trial) {
        String outcome = "done";
        try {
            trial.run();
        } catch (Exception e) {
            outcome = e.getClass().getSimpleName() + ": " + e.getMessage();
        }
        boolean closed = socket instanceof Socket client ? client.isClosed() : ((ServerSocket) socket).isClosed();
        System.out.println(what + ": " + outcome + ", closed=" + closed);
    }
}
