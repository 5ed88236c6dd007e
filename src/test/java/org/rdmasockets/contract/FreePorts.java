package org.rdmasockets.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * TCP ports for tests that must know one before they listen. They lie below the range from which Linux assigns
 * ephemeral ports (32,768 to 60,999 unless {@code net.ipv4.ip_local_port_range} was changed), and this process gives
 * each of them only once: a port that was merely free a moment ago can be another test's by the time it is wanted. Any
 * thread.
 */
public final class FreePorts {
    private static final int FIRST = 10_000;
    private static final int COUNT = 22_000;
    /** Processes that run at one time begin far from each other. */
    private static final int STEP = 97;
    private static final AtomicInteger NEXT = new AtomicInteger((int) (ProcessHandle.current().pid() * STEP % COUNT));

    private FreePorts() {
    }

    /**
     * Finds one.
     *
     * @param address the local address of the later listener
     * @return a port that is free there, and that is given only once
     * @throws IOException if there is none
     */
    public static int next(InetAddress address) throws IOException {
        IOException last = null;
        for (int i = 0; i < COUNT; i++) {
            int port = FIRST + Math.floorMod(NEXT.getAndIncrement(), COUNT);
            // Bound, but not listening: a process that is being started meanwhile has a copy for a moment, and one that
            // listens would keep the port.
            try (Socket free = new Socket()) {
                free.setReuseAddress(true);
                free.bind(new InetSocketAddress(address, port));
                return port;
            } catch (IOException e) {
                last = e;
            }
        }
        throw new IOException("no port from " + FIRST + " to " + (FIRST + COUNT - 1) + " of " + address + " is free",
                last);
    }

    /**
     * Finds several.
     *
     * @param address the local address of the later listeners
     * @param count how many
     * @return the address with a port each
     * @throws IOException if there are not so many
     */
    public static List<InetSocketAddress> next(InetAddress address, int count) throws IOException {
        List<InetSocketAddress> all = new ArrayList<>();
        while (all.size() < count) {
            all.add(new InetSocketAddress(address, next(address)));
        }
        return all;
    }
}
