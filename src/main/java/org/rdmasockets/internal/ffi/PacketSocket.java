package org.rdmasockets.internal.ffi;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A Unix domain socket of type {@code SOCK_SEQPACKET}: packets in order, descriptors with them, and the end of the
 * stream when the peer's process ends, however it ends. Never waits; closed on exec. A name is the path of a file,
 * which only its owner may connect to, unless {@link SharingPolicy} permits others, and which outlives the socket;
 * {@link SocketDirectory} takes care of that.
 */
public final class PacketSocket extends Guard {
    private static final int TYPE = Posix.SOCK_SEQPACKET | Posix.SOCK_NONBLOCK | Posix.SOCK_CLOEXEC;
    /** Longest name: {@code sun_path} without the zero byte at its end. */
    private static final int MAX_NAME_BYTES = 107;
    private static final int DEFAULT_DESCRIPTORS = 1024;
    private static final int OWNER_ONLY = 0600;
    /** Where {@code sun_path} begins in {@code struct sockaddr_un}. */
    private static final int PATH_OFFSET = 2;
    /** {@code sizeof(struct ucred)}: process, user, group. */
    private static final int CREDENTIALS_BYTES = 12;
    private static final int EINTR = Errno.EINTR.number();

    private static final int MOST_GROUPS = 1024;

    /**
     * The peer's process, user and group when it connected or began to listen ({@code struct ucred}), as this process
     * sees them; the process is 0 if it has no number here, in another PID namespace.
     */
    public record Peer(int process, int user, int group) {}

    final int descriptor;
    /** Whether others may have put packets into it, whose descriptors are closed with it: that can last. */
    private volatile boolean shared;
    /** The set that watches this, or null: the socket leaves it when it is closed, not when that has been done. */
    volatile Epoll watchedBy;
    /** Null until it was asked for. */
    private Peer peer;

    private PacketSocket(long descriptor, boolean shared) {
        this.descriptor = (int) descriptor;
        this.shared = shared;
    }

    /** A socket that is neither named nor connected; throws if there are too many descriptors. */
    public static PacketSocket unnamed() throws VerbsException {
        return new PacketSocket(Posix.SOCKET.check("", Posix.AF_UNIX, TYPE, 0), false);
    }

    /**
     * Listens under a name of at most 107 bytes; throws {@code EADDRINUSE} if it is taken. Where the kernel can say so
     * (Linux 6.16), no peer can send descriptors to an accepted socket before {@link #admitDescriptors}.
     */
    public static PacketSocket listen(String name, int backlog) throws VerbsException {
        PacketSocket socket = unnamed();
        try {
            Posix.FCHMOD.check("name=" + name, socket.descriptor, OWNER_ONLY);
            socket.passDescriptors(0);
            socket.give(Posix.BIND, name);
            socket.shared = true;
            if (SharingPolicy.current().isForOthers()) {
                admitOthers(name);
            }
            Posix.LISTEN.check("name=" + name, socket.descriptor, backlog);
            return socket;
        } catch (Throwable e) {
            socket.close();
            throw e;
        }
    }

    /** Lets other users connect, after bind, which applies the umask: each is looked at as it is accepted. */
    private static void admitOthers(String name) throws VerbsException {
        try {
            Files.setPosixFilePermissions(Path.of(name), PosixFilePermissions.fromString("rw-rw-rw-"));
        } catch (IOException e) {
            throw new VerbsException("chmod", Errno.EACCES.number(), "name=" + name,
                    "other users cannot connect: " + e.getMessage());
        }
    }

    /**
     * Connects to a name of at most 107 bytes, without waiting: a listener's kernel accepts at once or refuses. Throws
     * {@code ECONNREFUSED} if no process listens there, {@code ENOENT} if the name is not taken, {@code EACCES} if
     * another user's is, {@code EAGAIN} if the backlog is full.
     */
    public static PacketSocket connect(String name) throws VerbsException {
        PacketSocket socket = unnamed();
        try {
            if (SharingPolicy.current().isForOthers()) {
                socket.passDescriptors(0); // the listener is not known yet
            }
            socket.give(Posix.CONNECT, name);
            socket.shared = true;
            return socket;
        } catch (Throwable e) {
            socket.close();
            throw e;
        }
    }

    /** Gives a function the address of a name. */
    private void give(NativeFunction function, String name) throws VerbsException {
        byte[] path = name.getBytes(StandardCharsets.UTF_8);
        if (path.length > MAX_NAME_BYTES) {
            throw new VerbsException(function == Posix.BIND ? "bind" : "connect", Errno.ENAMETOOLONG.number(), "name="
                    + name, "the path of a socket has at most " + MAX_NAME_BYTES + " bytes: use a shorter directory");
        }
        try (Arena arena = Arena.ofConfined()) {
            int bytes = PATH_OFFSET + path.length + 1;
            MemorySegment address = arena.allocate(bytes, Short.BYTES);
            Posix.buffer(address).putShort((short) Posix.AF_UNIX).put(path);
            function.check("name=" + name, descriptor, address.address(), bytes);
        }
    }

    /** Lets the peer send descriptors, now that it is known. Kernels that cannot refuse them let it anyway. */
    public void admitDescriptors() {
        passDescriptors(1);
    }

    private void passDescriptors(int whether) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(Integer.BYTES, Integer.BYTES);
            Posix.buffer(value).putInt(0, whether);
            Posix.SETSOCKOPT.call(descriptor, Posix.SOL_SOCKET, Posix.SO_PASSRIGHTS, value.address(), Integer.BYTES);
        }
    }

    /** Takes a connection that waits, null for none; it goes on waiting if there is no descriptor for it. */
    public PacketSocket accept() throws VerbsException {
        long accepted = Posix.ACCEPT4.call(descriptor, 0L, 0L, Posix.SOCK_NONBLOCK | Posix.SOCK_CLOEXEC);
        if (accepted >= 0) {
            try {
                return new PacketSocket(accepted, true);
            } catch (Throwable e) {
                Closer.close((int) accepted);
                throw e;
            }
        }
        return switch (Errno.of((int) accepted)) {
            case EAGAIN, ECONNABORTED, EINTR -> null;
            default -> throw Posix.ACCEPT4.failure(-accepted, "");
        };
    }

    /** Asks the kernel who the peer is ({@code SO_PEERCRED}). */
    public Peer peer() throws VerbsException {
        if (peer != null) {
            return peer;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment answer = arena.allocate(CREDENTIALS_BYTES + Integer.BYTES, Integer.BYTES);
            ByteBuffer fields = Posix.buffer(answer).putInt(CREDENTIALS_BYTES, CREDENTIALS_BYTES);
            Posix.GETSOCKOPT.check("option=SO_PEERCRED", descriptor, Posix.SOL_SOCKET, Posix.SO_PEERCRED,
                    answer.address(), answer.address() + CREDENTIALS_BYTES);
            peer = new Peer(fields.getInt(0), fields.getInt(Integer.BYTES), fields.getInt(2 * Integer.BYTES));
            return peer;
        }
    }

    /** Whether the peer, when it connected or began to listen, was in one of these groups beside its own. */
    boolean isPeerIn(int[] groups) {
        try (Arena arena = Arena.ofConfined()) {
            int bytes = MOST_GROUPS * Integer.BYTES;
            ByteBuffer fields = option(arena, Posix.SO_PEERGROUPS, bytes);
            for (int i = 0; fields != null && i < fields.getInt(bytes) / Integer.BYTES; i++) {
                if (SharingPolicy.contains(groups, fields.getInt(i * Integer.BYTES))) {
                    return true;
                }
            }
            return false;
        }
    }

    /** The value of an option and behind so many bytes its length; null if the kernel does not know it. */
    private ByteBuffer option(Arena arena, int option, int bytes) {
        MemorySegment answer = arena.allocate(bytes + Integer.BYTES, Long.BYTES);
        ByteBuffer fields = Posix.buffer(answer).putInt(bytes, bytes);
        return Posix.GETSOCKOPT.call(descriptor, Posix.SOL_SOCKET, option, answer.address(), answer.address() + bytes)
                < 0 ? null : fields;
    }

    /**
     * Tells the peer's process from all others of this host, also from those that have its number later: the inode of
     * its descriptor ({@code SO_PEERPIDFD}), 0 if the kernel does not tell.
     */
    public long peerInode() {
        try (Arena arena = Arena.ofConfined()) {
            ByteBuffer fields = option(arena, Posix.SO_PEERPIDFD, Integer.BYTES);
            if (fields == null) {
                return 0;
            }
            int process = fields.getInt(0);
            try {
                return inode(arena, process);
            } finally {
                Posix.close(process);
            }
        }
    }

    /** The inode of a process, by its descriptor; 0 before Linux 6.9, where all have the same. */
    private static long inode(Arena arena, int process) {
        MemorySegment found = arena.allocate(Posix.STAT_BYTES, Long.BYTES);
        if (Posix.FSTATFS.call(process, found.address()) < 0
                || Posix.buffer(found).getLong(0) != Posix.PIDFS_MAGIC
                || Posix.SYSCALL.call(Posix.NEWFSTATAT, process, Posix.text(arena, "").address(), found.address(),
                        Posix.AT_EMPTY_PATH) < 0) {
            return 0;
        }
        return Posix.buffer(found).getLong(Posix.STAT_INODE);
    }

    /**
     * The network namespace that this socket was made in, of an accepted one its peer's, as a number that the kernel
     * gives ({@code SO_NETNS_COOKIE}); 0 before Linux 5.14.
     */
    public long networkNamespace() {
        try (Arena arena = Arena.ofConfined()) {
            ByteBuffer fields = option(arena, Posix.SO_NETNS_COOKIE, Long.BYTES);
            return fields == null ? 0 : fields.getLong(0);
        }
    }

    /** The user of this process, to compare with {@link Peer#user}. */
    public static int ownUser() {
        return (int) Posix.GETEUID.call();
    }

    /** A number that cannot be guessed ({@code getrandom}); those of {@code java.security} would load sixty classes. */
    public static long randomNumber() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(Long.BYTES, Long.BYTES);
            // So few bytes come whole, or not at all, and that only while the system starts.
            while (Posix.GETRANDOM.call(number.address(), Long.BYTES, 0) != Long.BYTES) {
                Thread.onSpinWait();
            }
            return Posix.buffer(number).getLong(0);
        }
    }

    /** How many descriptors this process may have, as {@code ulimit -n} says it. */
    public static int mostDescriptors() {
        try {
            return (int) Math.min(Integer.MAX_VALUE, Long.parseLong(SharedMemoryAvailability.limit("Max open files")));
        } catch (IOException | RuntimeException e) {
            return DEFAULT_DESCRIPTORS; // hidden, or unlimited
        }
    }

    /**
     * Sends a packet of 1 to {@link PacketBuffer#MAX_PACKET_BYTES}, with a descriptor unless that is -1: 0, or a
     * positive errno, {@code EAGAIN} if there is no room now, {@code EPIPE} if the peer has gone.
     */
    public int send(PacketBuffer buffer, int bytes, int attached) {
        if (!enter()) {
            return Errno.EPIPE.number();
        }
        try {
            int error = buffer.send(descriptor, bytes, attached);
            while (error == -EINTR) {
                error = buffer.send(descriptor, bytes, attached);
            }
            return -error;
        } finally {
            leave();
        }
    }

    /** Sends a packet of one byte if there is room; if there is none, the peer has something to read anyway. */
    public void ring() {
        if (enter()) {
            try {
                Posix.sendByte(descriptor);
            } finally {
                leave();
            }
        }
    }

    /** Receives a packet: its length; 0 if the peer has gone; a negated errno, {@code EAGAIN} for nothing now. */
    public int receive(PacketBuffer buffer) {
        if (!enter()) {
            return 0;
        }
        try {
            int length = buffer.receive(descriptor);
            while (length == -EINTR) {
                length = buffer.receive(descriptor);
            }
            return length;
        } finally {
            leave();
        }
    }

    /** Ends the stream both ways; a poller that watches the socket reports it. Harmless when closed. */
    public void shutdown() {
        if (enter()) {
            try {
                Posix.SHUTDOWN.call(descriptor, Posix.SHUT_RDWR);
            } finally {
                leave();
            }
        }
    }

    @Override
    protected void free() {
        if (!shared) {
            Posix.close(descriptor);
            return;
        }
        Epoll set = watchedBy;
        try {
            if (set != null) {
                set.remove(descriptor);
            }
        } finally {
            shutDown();
        }
    }

    private void shutDown() {
        try {
            Posix.SHUTDOWN.call(descriptor, Posix.SHUT_RDWR); // the peer need not wait for the closer
        } finally {
            Closer.close(descriptor);
        }
    }
}
