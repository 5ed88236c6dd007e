package org.rdmasockets.internal.ffi;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * All mappings of this library, within a budget: the kernel gives a process {@code vm.max_map_count} of them, and a JVM
 * that gets no more for its own heap, code and threads ends. So an eighth of them is left to the JVM and the
 * application, and a mapping beyond that is refused.
 *
 * <p>A range that is unmapped holds private memory for a while before it is given back: an access that comes too late
 * lands there and does no harm.
 */
final class Mappings {
    private static final Path LIMIT = Path.of("/proc/sys/vm/max_map_count");
    /** The kernel's limit unless it is told otherwise. */
    private static final int DEFAULT_MOST = 65_530;
    /** The least that is left to others, and as a part of all. */
    private static final int LEAST_RESERVE = 512;
    private static final int RESERVED_PART = 8;
    /** So many of ours are no danger, so nothing is read from /proc. */
    private static final int UNCOUNTED = 256;
    /** How long a refusal stands before all mappings are counted again, which takes milliseconds. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** The most that is held back before it is given back, the oldest first. */
    private static final int MOST_RETIRED = 256;
    private static final long MOST_RETIRED_BYTES = 1L << 30;
    /** Private memory in place of what is there. */
    private static final int PRIVATE = Posix.MAP_PRIVATE | Posix.MAP_ANONYMOUS | Posix.MAP_NORESERVE
            | Posix.MAP_FIXED;

    /** Mappings of this library; guarded by the class, as are all fields below. */
    private static int count;
    /** How many there may be before all mappings of the process are counted again. */
    private static int allowed = UNCOUNTED;
    /** When a refusal ends, by {@code System.nanoTime}. */
    private static long refusedUntil;
    /** Whether {@link #refusedUntil} means something. */
    private static boolean refused;
    /** Ranges that are not used any more, address and size in turn: a ring, so that one more takes no memory. */
    private static final long[] RETIRED = new long[2 * MOST_RETIRED];
    /** Where the oldest is, how many there are, and how large they are together. */
    private static int oldestRetired;
    private static int retired;
    private static long retiredBytes;

    private Mappings() {}

    /** How many mappings this library has now, those included that are about to be given back. */
    static synchronized int count() {
        return count;
    }

    /** Counts a mapping that is about to be made; or throws {@code ENOMEM}. */
    private static synchronized void reserve() throws VerbsException {
        if (count + 1 > allowed && !hasRoom()) {
            throw new VerbsException("mmap", Errno.ENOMEM.number(), "mappings=" + count + ", vm.max_map_count="
                    + most(), "this process has nearly as many mappings as it may, and the JVM needs the rest: raise "
                    + "the sysctl vm.max_map_count, or use fewer connections");
        }
        count++;
    }

    /** Says that a mapping is gone. */
    private static synchronized void release() {
        count--;
    }

    /** Counts all mappings of this process; half of what is left may be taken before they are counted again. */
    private static boolean hasRoom() {
        long now = System.nanoTime();
        if (refused && now - refusedUntil < 0) {
            return false;
        }
        int most = most();
        int room = most - Math.max(LEAST_RESERVE, most / RESERVED_PART) - inUse();
        allowed = count + Math.max(0, room - 1) / 2 + (room >= 1 ? 1 : 0);
        refused = room < 1;
        refusedUntil = now + PAUSE_NANOS;
        return !refused;
    }

    /** The kernel's limit. */
    static int most() {
        try {
            return Integer.parseInt(SharedMemoryAvailability.read(LIMIT).strip());
        } catch (IOException | IllegalArgumentException e) {
            return DEFAULT_MOST;
        }
    }

    /** Mappings of the whole process; ours if the kernel does not tell. */
    private static int inUse() {
        int lines = 0;
        try (InputStream maps = new FileInputStream("/proc/self/maps")) {
            byte[] buffer = new byte[1 << 16];
            for (int read = maps.read(buffer); read > 0; read = maps.read(buffer)) {
                for (int i = 0; i < read; i++) {
                    lines += buffer[i] == '\n' ? 1 : 0;
                }
            }
        } catch (IOException e) {
            return count;
        }
        return lines;
    }

    /** Maps whole pages of a sealed memfd; throws {@code ENOMEM} if there are too many mappings. */
    static long map(int descriptor, long bytes) throws VerbsException {
        reserve();
        try {
            return Posix.MMAP.check("lengthBytes=" + bytes, 0L, bytes, Posix.PROT_READ_WRITE, Posix.MAP_SHARED,
                    descriptor, 0L);
        } catch (Throwable e) {
            release();
            throw e;
        }
    }

    /** Puts harmless private memory in place of what {@link #map} mapped; false if the kernel did not do it. */
    static boolean empty(long address, long bytes) {
        // Surely: memory of a peer would stay.
        return Posix.MMAP.callSurely(Captured.IGNORED, address, bytes, Posix.PROT_READ_WRITE, PRIVATE, -1L) == address;
    }

    /** Empties a range of shared memory: its whole pages go to the kernel, if it does not refuse; false if it does. */
    static boolean discard(long address, long bytes) {
        long end = address + bytes;
        long first = Math.min(end, PageSize.roundUp(address));
        long last = Math.max(first, end & -PageSize.BYTES);
        if (last > first && Posix.MADVISE.call(first, last - first, Posix.MADV_REMOVE) != 0) {
            return false;
        }
        clear(address, first);
        clear(last, end);
        return true;
    }

    /** The rest of a page that is not given back as a whole. */
    private static void clear(long address, long end) {
        if (end > address) {
            Posix.memoryAt(address, end - address).fill((byte) 0);
        }
    }

    /** Gives a range back whose addresses no code has. */
    static void unmap(long address, long bytes) {
        Posix.MUNMAP.callSurely(Captured.IGNORED, address, bytes, 0L, 0L, 0L);
        release();
    }

    /** Takes a range back that is no longer used: it is empty now, and given back a while later. */
    static void retire(long address, long bytes) {
        empty(address, bytes);
        while (!keep(address, bytes)) {
            unmapOldest();
        }
    }

    /** Holds an empty range back; false if there are too many, and the oldest has to go first. */
    private static synchronized boolean keep(long address, long bytes) {
        if (retired > 0 && (retired == MOST_RETIRED || retiredBytes + bytes > MOST_RETIRED_BYTES)) {
            return false;
        }
        int slot = 2 * ((oldestRetired + retired) % MOST_RETIRED);
        RETIRED[slot] = address;
        RETIRED[slot + 1] = bytes;
        retired++;
        retiredBytes += bytes;
        return true;
    }

    private static synchronized void unmapOldest() {
        if (retired > 0) {
            int slot = 2 * oldestRetired;
            oldestRetired = (oldestRetired + 1) % MOST_RETIRED;
            retired--;
            retiredBytes -= RETIRED[slot + 1];
            unmap(RETIRED[slot], RETIRED[slot + 1]);
        }
    }
}
