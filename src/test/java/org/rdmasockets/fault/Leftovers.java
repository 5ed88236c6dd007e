package org.rdmasockets.fault;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.ffi.Descriptors;

/**
 * The resources that this process holds on behalf of others: descriptors, mappings of shared memory, and sockets under
 * the name of its listener.
 */
record Leftovers(int port, long descriptors, long mappings, long names) {
    /** The flag of a socket that listens ({@code __SO_ACCEPTCON}). */
    private static final String LISTENS = " 00010000 ";

    /** The resources held now, with a listener on a port. */
    static Leftovers take(int port) throws IOException {
        return new Leftovers(port, Descriptors.openCount(), Descriptors.sharedMappings(), names(port));
    }

    /**
     * How many sockets of this network namespace listen under the name of a port. Sockets that an earlier listener on
     * the same port has accepted keep that name for as long as their link lives, but are not counted.
     */
    static long names(int port) throws IOException {
        try (Stream<String> sockets = Files.lines(Path.of("/proc/net/unix"))) {
            return sockets.filter(line -> line.contains(LISTENS) && line.contains("/org.rdmasockets-")
                    && line.endsWith("-" + port)).count();
        }
    }

    /** Waits until there is no more than this again. */
    void awaitAgain() throws Exception {
        Leftovers[] last = {this};
        try {
            Await.until("cleaning up", () -> {
                last[0] = take(port);
                return last[0].descriptors <= descriptors && last[0].mappings <= mappings && last[0].names <= names;
            });
        } catch (AssertionError e) {
            throw new AssertionError("before: " + this + ", left: " + last[0], e);
        }
    }

    @Override
    public String toString() {
        return descriptors + " descriptors, " + mappings + " mappings, " + names + " names";
    }
}
