package org.rdmasockets.internal.sharedmemory.link;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The identity of a peer: its process by the kernel, as {@code PacketSocket.identity} says it, and the random number that
 * the peer's hub says. Either alone would not do: a process can have several hubs, and a hostile one can repeat the number
 * of another to get its connections.
 */
record PeerId(long process, long hub) {
    /** Whether the process is known to be stopped: by a signal, or by a debugger. */
    boolean isStopped() {
        if (process <= 0) {
            return false;
        }
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(process), "stat"),
                    StandardCharsets.ISO_8859_1);
            int state = stat.lastIndexOf(')') + 2; // the name before it may have such characters, too
            return state < stat.length() && "Tt".indexOf(stat.charAt(state)) >= 0;
        } catch (IOException e) {
            return false;
        }
    }

    // By hand, because what the compiler makes spins classes in a JVM that starts.
    @Override
    public boolean equals(Object other) {
        return other instanceof PeerId peer && process == peer.process && hub == peer.hub;
    }

    @Override
    public int hashCode() {
        return 31 * Long.hashCode(process) + Long.hashCode(hub);
    }
}
