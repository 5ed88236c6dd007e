package org.rdmasockets.internal.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/**
 * Functions of the C library and numbers of Linux, the same on x86-64 and aarch64. Callers have asked
 * {@link SharedMemoryAvailability} first, because initialisation fails where native access is denied.
 */
@SuppressWarnings("restricted")
final class Posix {
    static final int AF_UNIX = 1;
    static final int SOCK_SEQPACKET = 5;
    static final int SOCK_NONBLOCK = 0x800;
    static final int SOCK_CLOEXEC = 0x80000;
    static final int SOL_SOCKET = 1;
    static final int SCM_RIGHTS = 1;
    static final int SO_PEERCRED = 17;
    static final int SO_PEERGROUPS = 59;
    /** Linux 5.14 and newer. */
    static final int SO_NETNS_COOKIE = 71;
    /** Linux 6.5 and newer. */
    static final int SO_PEERPIDFD = 77;
    /** The file system of process descriptors, from Linux 6.9 on: there each process has an inode of its own. */
    static final long PIDFS_MAGIC = 0x50494446;
    /** Linux 6.16 and newer. */
    static final int SO_PASSRIGHTS = 83;
    static final boolean AARCH64 = System.getProperty("os.arch").equals("aarch64");
    static final int O_DIRECTORY = AARCH64 ? 0x4000 : 0x10000;
    static final int O_CLOEXEC = 0x80000;
    /** The number of {@code newfstatat}, and the offsets in {@code struct stat}: C's {@code stat} is glibc's own. */
    static final int NEWFSTATAT = AARCH64 ? 79 : 262;
    static final int STAT_INODE = 8;
    static final int STAT_MODE = AARCH64 ? 16 : 24;
    static final int STAT_USER = AARCH64 ? 24 : 28;
    static final int STAT_GROUP = AARCH64 ? 28 : 32;
    static final int STAT_BYTES = 144;
    static final int AT_FDCWD = -100;
    static final int AT_SYMLINK_NOFOLLOW = 0x100;
    static final int AT_EMPTY_PATH = 0x1000;
    static final int O_NOFOLLOW = AARCH64 ? 0x8000 : 0x20000;
    static final int O_RDWR = 0x2;
    static final int F_OFD_SETLK = 37;
    static final int F_WRLCK = 1;
    static final int F_UNLCK = 2;
    static final int LOCK_EX_NB = 2 | 4;
    static final int SHUT_RDWR = 2;
    static final int MSG_CTRUNC = 0x8;
    static final int MSG_TRUNC = 0x20;
    static final int MSG_DONTWAIT = 0x40;
    static final int MSG_NOSIGNAL = 0x4000;
    static final int MSG_CMSG_CLOEXEC = 0x40000000;
    static final int MFD_CLOEXEC = 0x1;
    static final int MFD_ALLOW_SEALING = 0x2;
    static final int MFD_NOEXEC_SEAL = 0x8;
    static final int F_ADD_SEALS = 1033;
    static final int F_GET_SEALS = 1034;
    static final int F_SEAL_SEAL = 0x1;
    static final int F_SEAL_SHRINK = 0x2;
    static final int F_SEAL_GROW = 0x4;
    static final int F_SEAL_WRITE = 0x8;
    static final int F_SEAL_FUTURE_WRITE = 0x10;
    static final int SEEK_END = 2;
    static final long TMPFS_MAGIC = 0x01021994;
    static final int PROT_READ_WRITE = 0x3;
    static final int MAP_SHARED = 0x1;
    static final int MAP_PRIVATE = 0x2;
    static final int MAP_FIXED = 0x10;
    static final int MAP_ANONYMOUS = 0x20;
    static final int MAP_NORESERVE = 0x4000;
    static final int MADV_REMOVE = 9;
    static final int EFD_NONBLOCK = 0x800;
    static final int EFD_CLOEXEC = 0x80000;
    static final int EPOLL_CLOEXEC = 0x80000;
    static final int EPOLL_CTL_ADD = 1;
    static final int EPOLL_CTL_DEL = 2;

    static final NativeFunction MEMFD_CREATE = NativeFunction.returningInt("memfd_create");
    static final NativeFunction FTRUNCATE = NativeFunction.returningInt("ftruncate");
    static final NativeFunction FCNTL = NativeFunction.returningInt("fcntl");
    static final NativeFunction LSEEK = NativeFunction.returningLong("lseek");
    static final NativeFunction FSTATFS = NativeFunction.returningInt("fstatfs");
    static final NativeFunction MMAP = NativeFunction.returningLong("mmap");
    static final NativeFunction MADVISE = NativeFunction.returningInt("madvise");
    static final NativeFunction MUNMAP = NativeFunction.returningInt("munmap");
    static final NativeFunction CLOSE = NativeFunction.returningInt("close");
    static final NativeFunction GETEUID = NativeFunction.returningInt("geteuid");
    static final NativeFunction SOCKET = NativeFunction.returningInt("socket");
    static final NativeFunction BIND = NativeFunction.returningInt("bind");
    static final NativeFunction FCHMOD = NativeFunction.returningInt("fchmod");
    static final NativeFunction SYSCALL = NativeFunction.returningLong("syscall");
    static final NativeFunction OPEN = NativeFunction.returningInt("open");
    static final NativeFunction FLOCK = NativeFunction.returningInt("flock");
    static final NativeFunction LISTEN = NativeFunction.returningInt("listen");
    static final NativeFunction CONNECT = NativeFunction.returningInt("connect");
    static final NativeFunction ACCEPT4 = NativeFunction.returningInt("accept4");
    static final NativeFunction SHUTDOWN = NativeFunction.returningInt("shutdown");
    static final NativeFunction GETSOCKOPT = NativeFunction.returningInt("getsockopt");
    static final NativeFunction SETSOCKOPT = NativeFunction.returningInt("setsockopt");
    static final NativeFunction SENDMSG = NativeFunction.returningLong("sendmsg");
    static final NativeFunction EVENTFD = NativeFunction.returningInt("eventfd");
    static final NativeFunction EPOLL_CREATE1 = NativeFunction.returningInt("epoll_create1");
    static final NativeFunction EPOLL_CTL = NativeFunction.returningInt("epoll_ctl");
    static final NativeFunction EPOLL_WAIT = NativeFunction.returningInt("epoll_wait");
    static final NativeFunction RECVMSG = NativeFunction.returningLong("recvmsg");
    static final NativeFunction GETRANDOM = NativeFunction.returningLong("getrandom");
    private static final NativeFunction SEND = NativeFunction.returningLong("send");
    private static final NativeFunction READ = NativeFunction.returningLong("read");
    private static final NativeFunction WRITE = NativeFunction.returningLong("write");

    /** The number 1 in 8 bytes, for ever: it is written to an eventfd, and its first byte is a doorbell. */
    private static final long ONE;

    static {
        MemorySegment one = Arena.global().allocate(Long.BYTES, Long.BYTES);
        buffer(one).putLong(0, 1);
        ONE = one.address();
    }

    private Posix() {}

    /** Memory in the order of this host: accesses by layouts would load sixteen classes in a first connect. */
    static ByteBuffer buffer(MemorySegment memory) {
        return memory.asByteBuffer().order(ByteOrder.nativeOrder());
    }

    /** Memory without an owner at an address that stays mapped for ever. */
    static MemorySegment memoryAt(long address, long bytes) {
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    /** Memory at an address, unmapped by {@link Mappings} when no segment of it can be reached any more. */
    static MemorySegment memoryWhileReachable(long address, long bytes) {
        Unmapping unmapping = null;
        MemorySegment memory = null;
        try {
            unmapping = new Unmapping(address, bytes);
            memory = MemorySegment.ofAddress(address).reinterpret(bytes, Arena.ofAuto(), unmapping);
            return memory;
        } finally {
            if (unmapping == null) {
                Mappings.unmap(address, bytes);
            } else if (memory == null) {
                unmapping.accept(null);
            }
        }
    }

    /** Unmaps memory once: when it is out of reach, or its segment could not be made. */
    private static final class Unmapping implements Consumer<MemorySegment> {
        private final long address;
        private final long bytes;
        private boolean done;

        Unmapping(long address, long bytes) {
            this.address = address;
            this.bytes = bytes;
        }

        @Override
        public synchronized void accept(MemorySegment unreachable) {
            if (!done) {
                done = true;
                Mappings.unmap(address, bytes);
            }
        }
    }

    /** A text as C has it, by a plain copy: {@code allocateFrom} loads more than that. */
    static MemorySegment text(Arena arena, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        MemorySegment memory = arena.allocate(bytes.length + 1L);
        memory.asByteBuffer().put(bytes);
        return memory;
    }

    /** {@code close}, whatever this thread lacks: the descriptor would be lost for ever. */
    static void close(int descriptor) {
        CLOSE.callSurely(Captured.IGNORED, descriptor, 0L, 0L, 0L, 0L);
    }

    /** {@code send} of one byte without waiting; a full or dead socket refuses, and its reader knows anyway. */
    static void sendByte(int descriptor) {
        SEND.callSurely(Captured.IGNORED, descriptor, ONE, 1L, MSG_DONTWAIT | MSG_NOSIGNAL, 0L);
    }

    /** {@code read} of 8 bytes from an eventfd; what it returns does not matter, the descriptor does not block. */
    static void readCounter(int descriptor, MemorySegment into) {
        READ.call(Captured.IGNORED, descriptor, into.address(), Long.BYTES, 0);
    }

    /** {@code write} of 8 bytes to an eventfd; a full counter refuses, which is as good as another wake-up. */
    static void writeCounter(int descriptor) {
        WRITE.callSurely(Captured.IGNORED, descriptor, ONE, Long.BYTES, 0L, 0L);
    }
}
