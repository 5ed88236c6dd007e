package org.rdmasockets.internal.ffi;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.rdmasockets.verbs.VerbsException;

/** Descriptors of kinds that no honest peer sends, and what this process holds. */
public final class Descriptors {
    public static final int SHRINK = Posix.F_SEAL_SHRINK;
    public static final int GROW = Posix.F_SEAL_GROW;
    public static final int SEAL = Posix.F_SEAL_SEAL;
    public static final int WRITE = Posix.F_SEAL_WRITE;
    public static final int FUTURE_WRITE = Posix.F_SEAL_FUTURE_WRITE;
    private static final int AF_INET = 2;
    private static final int SOCK_STREAM = 1;
    private static final int SO_LINGER = 13;
    private static final NativeFunction SENDTO = NativeFunction.returningLong("sendto");
    private static final int O_RDWR = 2;
    private static final int FALLOC_FL_PUNCH_HOLE_KEEP_SIZE = 3;
    private static final NativeFunction OPEN = NativeFunction.returningInt("open");
    private static final NativeFunction FALLOCATE = NativeFunction.returningInt("fallocate");

    private Descriptors() {
    }

    /** Memory with some of the seals. */
    public static int memory(long bytes, int seals) throws VerbsException {
        return memory(bytes, 0, seals);
    }

    /** Memory with some of the seals and further flags of memfd_create. */
    public static int memory(long bytes, int flags, int seals) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            int descriptor = (int) Posix.MEMFD_CREATE.check("", arena.allocateFrom("hostile").address(),
                    Posix.MFD_CLOEXEC | Posix.MFD_ALLOW_SEALING | flags);
            Posix.FTRUNCATE.check("", descriptor, bytes);
            Posix.FCNTL.check("", descriptor, Posix.F_ADD_SEALS, seals);
            return descriptor;
        }
    }

    /** Any file. */
    public static int open(String path) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            return (int) OPEN.check("path=" + path, arena.allocateFrom(path).address(), O_RDWR);
        }
    }

    /** Shortens a file: 0, or a positive errno. */
    public static int truncate(int descriptor, long bytes) {
        return (int) -Posix.FTRUNCATE.call(descriptor, bytes);
    }

    /** Takes the pages of a file away: 0, or a positive errno. */
    public static int punchHole(int descriptor, long bytes) {
        return (int) -FALLOCATE.call(descriptor, FALLOC_FL_PUNCH_HOLE_KEEP_SIZE, 0L, bytes);
    }

    /**
     * A connection over TCP whose close lasts for ten minutes, or until its other end is closed: it lingers, and its
     * buffers are full.
     */
    public static int lingering(int port) throws VerbsException {
        int socket = (int) Posix.SOCKET.check("", AF_INET, SOCK_STREAM | Posix.SOCK_CLOEXEC, 0);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(1 << 16, Long.BYTES);
            memory.set(JAVA_SHORT, 0, (short) AF_INET);
            memory.set(JAVA_SHORT, 2, Short.reverseBytes((short) port));
            memory.set(JAVA_INT, 4, Integer.reverseBytes(0x7F000001));
            Posix.CONNECT.check("port=" + port, socket, memory.address(), 16);
            memory.set(JAVA_INT, 0, 1);
            memory.set(JAVA_INT, 4, 600);
            Posix.SETSOCKOPT.check("option=SO_LINGER", socket, Posix.SOL_SOCKET, SO_LINGER, memory.address(), 8);
            while (SENDTO.call(socket, memory.address(), memory.byteSize(), Posix.MSG_DONTWAIT, 0L, 0) > 0) {
                Thread.onSpinWait();
            }
            return socket;
        }
    }

    /** Closes a descriptor, however long that lasts, without waiting. */
    public static void closeSometime(int descriptor) {
        Closer.close(descriptor);
    }

    /** Where a name of this user is. */
    public static Path named(String name) {
        return SocketDirectory.own().file(name);
    }

    /** Takes all descriptors that this process may still have, those included that {@link Closer} gives back soon. */
    public static List<PacketSocket> takeAll() {
        List<PacketSocket> taken = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(500);
        while (System.nanoTime() - end < 0) {
            try {
                taken.add(PacketSocket.unnamed());
            } catch (VerbsException e) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
            }
        }
        return taken;
    }

    public static void close(int descriptor) {
        Posix.CLOSE.call(descriptor);
    }

    /** How many descriptors this process has open. */
    public static long openCount() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.count();
        }
    }

    /** Whether shared memory of ours, which peers may be given, is mapped at an address. */
    public static boolean isShared(long address) throws IOException {
        try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            return mappings.anyMatch(line -> {
                String[] range = line.substring(0, line.indexOf(' ')).split("-");
                return Long.parseUnsignedLong(range[0], 16) <= address && Long.parseUnsignedLong(range[1], 16) > address
                        && line.contains("memfd:rdma-sockets");
            });
        }
    }

    /** How many mappings of shared memory of ours this process has. */
    public static long sharedMappings() throws IOException {
        try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            return mappings.filter(line -> line.contains("memfd:rdma-sockets") || line.contains("memfd:hostile"))
                    .count();
        }
    }
}
