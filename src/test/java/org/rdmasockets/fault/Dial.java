package org.rdmasockets.fault;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.interop.TestBed;

/**
 * A process that connects to a host without a timeout of its own, and tells how that ended. It connects to itself
 * first, for the first connection of a process loads everything.
 */
final class Dial {
    private Dial() {
    }

    /**
     * Connects.
     *
     * @param arguments host and port
     */
    static void main(String[] arguments) throws IOException {
        try (EchoService warmUp = new EchoService()) {
            warmUp.assertServes();
        }
        InetSocketAddress address = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        long start = System.nanoTime();
        String end;
        try (Socket socket = TestBed.socket()) {
            socket.connect(address);
            end = "connected";
        } catch (IOException e) {
            end = e.toString();
        }
        System.out.println("ended after " + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start) + " " + end);
    }
}
