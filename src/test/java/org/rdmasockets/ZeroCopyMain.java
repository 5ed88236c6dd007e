package org.rdmasockets;

import java.net.InetAddress;

/**
 * The other process of {@link ZeroCopyBetweenProcessesTest}: maps memory, sends what was placed there back from it, and
 * then reads no more.
 */
public final class ZeroCopyMain {
    private ZeroCopyMain() {
    }

    /**
     * Runs until it is killed.
     *
     * @param arguments port and length
     */
    public static void main(String[] arguments) throws Exception {
        int length = Integer.parseInt(arguments[1]);
        try (RdmaSocket socket = new RdmaSocket(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]))) {
            RdmaBuffer mapped = socket.map(length, 0);
            socket.getOutputStream().write(1);
            if (socket.getInputStream().read() != 1) {
                throw new IllegalStateException("the other end left");
            }
            socket.write(mapped, 0, length);
            Thread.currentThread().join();
        }
    }
}
