package org.rdmasockets.internal.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The descriptor of a {@code memfd} whose size can never change: sealed against shrinking, growing and other seals. So
 * no access to its mappings can fault, whatever another process does with it; without the seals a truncated file kills
 * the JVM. It has no name, and nothing is left of it when the last process that has it is gone.
 */
public final class SealedMemory extends Guard {
    private static final String NAME = "rdma-sockets";
    private static final int SEALS = Posix.F_SEAL_SHRINK | Posix.F_SEAL_GROW | Posix.F_SEAL_SEAL;
    private static final int READ_ONLY = Posix.F_SEAL_WRITE | Posix.F_SEAL_FUTURE_WRITE;
    private static final int FLAGS = Posix.MFD_CLOEXEC | Posix.MFD_ALLOW_SEALING;
    /** {@code sizeof(struct statfs)} and its first member {@code f_type}, a long on both architectures. */
    private static final long STATFS_BYTES = 120;

    private final int descriptor;

    private SealedMemory(int descriptor) {
        this.descriptor = descriptor;
    }

    /** Makes zeroed memory of so many bytes, which takes up room only where it is touched. */
    public static SealedMemory create(long bytes) throws VerbsException {
        return new SealedMemory(open(bytes));
    }

    /**
     * Makes zeroed memory as {@link #create} does, for a caller that knows when to {@link #close(int)} the descriptor.
     */
    public static int open(long bytes) throws VerbsException {
        int descriptor = createDescriptor();
        try {
            Posix.FTRUNCATE.check("lengthBytes=" + bytes, descriptor, bytes);
            Posix.FCNTL.check("command=F_ADD_SEALS", descriptor, Posix.F_ADD_SEALS, SEALS);
            return descriptor;
        } catch (Throwable e) {
            close(descriptor);
            throw e;
        }
    }

    /** Closes a descriptor that {@link #open} gave, once. */
    public static void close(int descriptor) {
        Posix.close(descriptor);
    }

    /** Asks for memory that can never be executed; kernels before 6.3 do not know that flag. */
    private static int createDescriptor() throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            long name = Posix.text(arena, NAME).address();
            long descriptor = Posix.MEMFD_CREATE.call(name, FLAGS | Posix.MFD_NOEXEC_SEAL);
            if (descriptor == -Errno.EINVAL.number()) {
                descriptor = Posix.MEMFD_CREATE.call(name, FLAGS);
            }
            if (descriptor < 0) {
                throw Posix.MEMFD_CREATE.failure(-descriptor, "");
            }
            return (int) descriptor;
        }
    }

    /**
     * Maps a descriptor that came from a peer, and stays the caller's, after checking that it is what {@link #create}
     * makes, in the size it must have. The order matters: only memory answers the question for seals, so nothing that
     * could wait is asked of another kind of file. Throws {@code EPROTO} if it is something else; another errno if this
     * process lacks something.
     */
    public static SharedMapping map(int descriptor, long bytes) throws VerbsException {
        return new SharedMapping(mapAt(descriptor, bytes), bytes);
    }

    /** Maps a descriptor as {@link #map} does; the address. */
    static long mapAt(int descriptor, long bytes) throws VerbsException {
        long seals = Posix.FCNTL.call(descriptor, Posix.F_GET_SEALS, 0);
        if (seals < 0 || (seals & SEALS) != SEALS) {
            throw violation("the descriptor is not memory sealed against resizing");
        }
        if ((seals & READ_ONLY) != 0) {
            throw violation("the memory is sealed against writing");
        }
        // Pages of hugetlbfs can run out at a touch, which is a SIGBUS.
        if (fileSystemType(descriptor) != Posix.TMPFS_MAGIC) {
            throw violation("the descriptor is not ordinary memory");
        }
        long size = Posix.LSEEK.call(descriptor, 0L, Posix.SEEK_END);
        if (size != bytes) {
            throw violation("the memory has " + size + " bytes instead of " + bytes);
        }
        return Mappings.map(descriptor, bytes);
    }

    private static VerbsException violation(String reason) {
        return new VerbsException("mmap", Errno.EPROTO, reason);
    }

    private static long fileSystemType(int descriptor) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment answer = arena.allocate(STATFS_BYTES, Long.BYTES);
            Posix.FSTATFS.check("", descriptor, answer.address());
            return Posix.buffer(answer).getLong(0);
        }
    }

    /** The number of the descriptor, for as long as this is entered or known to be open. */
    public int descriptor() {
        return descriptor;
    }

    @Override
    protected void free() {
        close(descriptor);
    }
}
