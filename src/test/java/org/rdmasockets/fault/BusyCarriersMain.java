package org.rdmasockets.fault;

import java.io.File;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.contract.Await;

/** A process whose virtual threads keep every carrier busy, for ever. Says what works all the same. */
final class BusyCarriersMain {
    private static final int SOCKETS = 20;

    private BusyCarriersMain() {
    }

    static void main() throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        int port;
        try (ServerSocket server = new RdmaServerSocket(0, 50, loopback)) {
            for (int i = 0; i < 4 * Runtime.getRuntime().availableProcessors(); i++) {
                Thread.ofVirtual().start(BusyCarriersMain::spin);
            }
            port = server.getLocalPort();
            try (Socket client = new Socket(loopback, port); Socket accepted = server.accept()) {
                accepted.getOutputStream().write(1);
                System.out.println("answered " + client.getInputStream().read());
            }
            int before = descriptors();
            List<ServerSocket> kept = new ArrayList<>();
            openAndDrop(loopback, kept);
            Await.until("dropped sockets to be released", () -> {
                System.gc();
                return descriptors() <= before + kept.size() + 2;
            }, () -> before + " descriptors before, now " + descriptors());
            System.out.println("released");
        }
        new ServerSocket(port, 50, loopback).close();
        System.out.println("closed");
        System.exit(0);
    }

    private static void openAndDrop(InetAddress loopback, List<ServerSocket> kept) throws Exception {
        ServerSocket plain = new ServerSocket(0, 50, loopback);
        kept.add(plain);
        for (int i = 0; i < SOCKETS; i++) {
            new RdmaSocket(loopback, plain.getLocalPort());
            plain.accept().close();
        }
    }

    private static int descriptors() {
        return new File("/proc/self/fd").list().length;
    }

    private static void spin() {
        while (true) {
            Thread.onSpinWait();
        }
    }
}
