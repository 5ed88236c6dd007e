package org.rdmasockets.internal.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * Port numbers that processes of this user and network namespace hold: each locks one byte of a file in
 * {@link SocketDirectory}, so that the kernel gives back what a process held when it ends, however it ends. That takes
 * one descriptor for the process and a call of about a microsecond for a port. Any thread may call anything.
 */
public final class PortLocks {
    /** The name of the file. */
    static final String FILE = "ports";
    /** Offsets in {@code struct flock}. */
    private static final int TYPE_OFFSET = 0;
    private static final int START_OFFSET = 8;
    private static final int LENGTH_OFFSET = 16;
    private static final int FLOCK_BYTES = 32;
    private static final int MAX_PORT = 65_535;

    /** The ports that this process holds; guarded by the class. */
    private static final BitSet HELD = new BitSet(MAX_PORT + 1);
    /** The file, -1 until it is open; guarded by the class. */
    private static int descriptor = -1;

    private PortLocks() {}

    /** Takes a port, unless any process holds it; where no file can be had, only this one counts. */
    public static synchronized boolean tryLock(int port) {
        if (HELD.get(port) || isForeign(set(port, Posix.F_WRLCK))) {
            return false;
        }
        HELD.set(port);
        return true;
    }

    /** Gives a port back that {@link #tryLock} gave. */
    public static synchronized void unlock(int port) {
        HELD.clear(port);
        set(port, Posix.F_UNLCK);
    }

    private static boolean isForeign(int errorNumber) {
        return errorNumber == Errno.EAGAIN.number() || errorNumber == Errno.EACCES.number();
    }

    /** Changes the lock of one byte: positive errno, or 0. */
    private static int set(int port, int type) {
        try (Arena arena = Arena.ofConfined()) {
            if (descriptor < 0) {
                descriptor = SocketDirectory.own().openFile(FILE);
            }
            MemorySegment lock = arena.allocate(FLOCK_BYTES, Long.BYTES);
            Posix.buffer(lock).putShort(TYPE_OFFSET, (short) type).putLong(START_OFFSET, port)
                    .putLong(LENGTH_OFFSET, 1);
            return (int) -Posix.FCNTL.call(descriptor, Posix.F_OFD_SETLK, lock.address());
        } catch (VerbsException e) {
            return 0; // no directory, or no descriptor left: the next port tries again
        }
    }
}
