package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.Linked;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * How much shared memory is resident for a connection between two processes: no page is touched before there is
 * something to put there. Both processes are this one here, so each page counts twice.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@Isolated
class IdlePagesGuardTest {
    private static final int CONNECTIONS = 500;
    /** For a new end: a part of the pages that say where its memory is. For a used one: its first page, its own map. */
    private static final int MOST_NEW_BYTES = 1280;
    private static final int MOST_USED_BYTES = MOST_NEW_BYTES + 4096;

    private final List<Socket> sockets = new ArrayList<>();

    @Test
    void anIdleConnectionTouchesNoPageThatItDoesNotUse(TestReporter reporter) throws IOException {
        VerbsProvider provider = Linked.provider();
        Transport forced = new Transport(provider.name(), "");
        Replacement replacement = new Replacement(provider);
        try (ServerSocket listener = new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, forced)) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            connect(listener, forced);
            long before = residentBytes();
            for (int i = 0; i < CONNECTIONS; i++) {
                connect(listener, forced);
            }
            check(reporter, "new", residentBytes() - before, MOST_NEW_BYTES);
            for (Socket socket : sockets) {
                socket.getOutputStream().write(1);
            }
            for (Socket socket : sockets) {
                socket.getInputStream().read();
            }
            check(reporter, "used", residentBytes() - before, MOST_USED_BYTES);
        } finally {
            replacement.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private void connect(ServerSocket listener, Transport forced) throws IOException {
        Socket client = new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, forced);
        sockets.add(client);
        client.connect(listener.getLocalSocketAddress());
        sockets.add(listener.accept());
    }

    private static void check(TestReporter reporter, String state, long bytes, int limit) {
        long each = bytes / (2 * CONNECTIONS);
        reporter.publishEntry(state, each + " bytes of shared memory");
        assertTrue(each <= limit, () -> "each " + state + " end has " + each + " bytes of shared memory resident; "
                + limit + " are allowed");
    }

    /** The resident part of all shared memory that this process maps. */
    private static long residentBytes() throws IOException {
        long kilobytes = 0;
        boolean shared = false;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            String[] words = line.split("\\s+");
            if (words[0].endsWith(":")) {
                kilobytes += shared && words[0].equals("Rss:") ? Long.parseLong(words[1]) : 0;
            } else {
                shared = line.contains("/memfd:");
            }
        }
        return kilobytes * 1024;
    }
}
