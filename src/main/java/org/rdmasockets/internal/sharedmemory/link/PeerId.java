package org.rdmasockets.internal.sharedmemory.link;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The identity of a peer: its process by the kernel, 0 if it has no number here (in another container), the inode of
 * the process, 0 where the number is enough or the kernel does not tell, its user, and the random number that the
 * peer's hub says. No part would do alone: numbers of processes are used again, a process can have several hubs, and a
 * hostile one can repeat the number of another to get its connections.
 */
record PeerId(int process, long inode, int user, long hub) {
    /** The same process, with one of its hubs. */
    PeerId of(long itsHub) {
        return new PeerId(process, inode, user, itsHub);
    }

    /** Whether the kernel vouches for it, so that a link to it serves for further connections. */
    boolean isCertain() {
        return process > 0 || inode != 0;
    }

    /** Whether it is of the same process, which may have several hubs. */
    boolean isOfProcess(PeerId other) {
        return isCertain() && process == other.process && inode == other.inode && user == other.user;
    }

    /** Whether the process is known to be stopped: by a signal, or by a debugger. */
    boolean isStopped() {
        if (process <= 0) {
            return false;
        }
        try {
            String stat = Files.readString(Path.of("/proc", Integer.toString(process), "stat"),
                    StandardCharsets.ISO_8859_1);
            int state = stat.lastIndexOf(')') + 2; // the name before it may have such characters, too
            return state < stat.length() && "Tt".indexOf(stat.charAt(state)) >= 0;
        } catch (IOException e) {
            return false;
        }
    }

    // By hand: the compiler's methods would generate classes while a JVM starts.
    @Override
    public boolean equals(Object other) {
        return other instanceof PeerId peer && process == peer.process && inode == peer.inode && user == peer.user
                && hub == peer.hub;
    }

    @Override
    public int hashCode() {
        return 31 * (31 * (31 * process + Long.hashCode(inode)) + user) + Long.hashCode(hub);
    }
}
