package org.rdmasockets.internal.ffi;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The directory of the names of packet sockets, one for each user and network namespace: no other user can take or
 * remove a name in it, or connect to one unless {@link SharingPolicy} permits that. It is looked for in a few places, or
 * in the one that the policy names, so that another user who takes its name in one of them does no harm: a directory
 * counts only if this user owns it and no other user may write to it. Others may look a name up, so that they learn
 * whose it is.
 *
 * <p>The directories of permitted users are looked at after the own one, and those of other network namespaces for an
 * address that is not of this one. They prove nothing: the kernel says who listens there.
 *
 * <p>A file outlives its socket if the process is killed. A name is free when no process listens there; only a process
 * that has locked the directory removes such a file. Any thread may call anything; no thread is started.
 */
public final class SocketDirectory {
    private static final String PREFIX = "org.rdmasockets-";
    private static final int OTHERS_WRITE = 022;
    private static final int STICKY = 01000;
    private static final int TYPE = 0170000;
    private static final int DIRECTORY = 0040000;
    /**
     * How long a name must be unanswered before it counts as left behind: between bind and listen it is unanswered,
     * too.
     */
    private static final long STALE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    /** Between bind and listen a name is younger than this. */
    private static final long OLD_MILLIS = 10_000;
    private static final long LOCK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** Most files of a place that are looked at in search of other users' directories, and of left names. */
    private static final int MOST_LOOKED_AT = 512;

    /** The files that say which addresses the namespace of a directory has, where a name of all addresses counts. */
    private static final String ADDRESS_PREFIX = "at-";

    /** The directory of this process; guarded by the class. */
    private static SocketDirectory ofProcess;

    private final List<Path> places;
    private final int user;
    /** The name of the directory, but for the user. */
    private final String suffix;
    private final String directory;
    /** Whether this process has looked for names that others left behind. */
    private final AtomicBoolean swept = new AtomicBoolean();

    SocketDirectory(List<Path> places) {
        this.places = places;
        user = PacketSocket.ownUser();
        suffix = "-" + networkNamespace();
        directory = PREFIX + UserNamespace.outerUser(user) + suffix;
    }

    /** The directory of this process, made when it is needed. */
    public static synchronized SocketDirectory own() {
        if (ofProcess == null) {
            Path named = policy().directory();
            ofProcess = new SocketDirectory(named != null ? List.of(named) : List.of(Path.of("/dev/shm"),
                    Path.of("/run/user/" + UserNamespace.outerUser(PacketSocket.ownUser())), Path.of("/tmp")));
        }
        return ofProcess;
    }

    private static SharingPolicy policy() {
        return SharingPolicy.current();
    }

    private static String networkNamespace() {
        try {
            String link = Files.readSymbolicLink(Path.of("/proc/self/ns/net")).toString(); // net:[4026531840]
            return link.substring(link.indexOf('[') + 1, link.length() - 1);
        } catch (IOException | RuntimeException e) {
            return "0"; // as all processes that do not see /proc
        }
    }

    /** A socket that listens, and its file. */
    public record Named(PacketSocket socket, Path file) {
        /** Gives the name up, and then the socket. */
        public void close() {
            try {
                delete(file);
            } finally {
                socket.close();
            }
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            return; // as after a crash: the next process to want the name finds that none listens
        }
    }

    /**
     * Takes the name of a file and listens. Throws {@code EADDRINUSE} if another process of this user has the name,
     * {@code ENOENT} with the reasons if there is no directory that only this user may write to.
     */
    public Named listen(String name, int backlog) throws VerbsException {
        List<String> problems = new ArrayList<>();
        for (Path place : places) {
            Path directoryHere = place.resolve(directory);
            String problem = make(place, directoryHere);
            if (problem == null) {
                requireFreeElsewhere(place, name);
                if (!swept.getAndSet(true)) {
                    sweep(directoryHere);
                }
                try {
                    Path file = directoryHere.resolve(name);
                    return new Named(listen(directoryHere, file, backlog), file);
                } catch (VerbsException e) {
                    if (e.errno() == Errno.EADDRINUSE || e.errno() == Errno.EMFILE || e.errno() == Errno.ENFILE) {
                        throw e;
                    }
                    problem = e.getMessage();
                }
            }
            problems.add(problem);
        }
        throw none("name=" + name, problems);
    }

    private static VerbsException none(String arguments, List<String> problems) {
        return new VerbsException("bind", Errno.ENOENT.number(), arguments,
                "no directory for the names of this user's sockets: " + String.join("; ", problems));
    }

    /**
     * Where names are made, for a person: the directory is made unless it is there. Throws {@code ENOENT} with the
     * reasons if there is no directory that only this user may write to.
     */
    public Path path() throws VerbsException {
        List<String> problems = new ArrayList<>();
        for (Path place : places) {
            Path directoryHere = place.resolve(directory);
            String problem = make(place, directoryHere);
            if (problem == null) {
                return directoryHere;
            }
            problems.add(problem);
        }
        throw none("", problems);
    }

    /** A process that started when another place was the first may have the name, or one of a permitted user. */
    private void requireFreeElsewhere(Path here, String name) throws VerbsException {
        for (Path place : places) {
            Path file = place.resolve(directory).resolve(name);
            if (place != here && problem(place, file.getParent()) == null && Files.exists(file) && isAnswered(file)) {
                throw Posix.BIND.failure(Errno.EADDRINUSE.number(), "name=" + file);
            }
        }
        for (Path other : policy().isForOthers() ? others(true) : List.<Path>of()) {
            try {
                connect(other.resolve(name)).close();
            } catch (VerbsException e) {
                continue;
            }
            throw Posix.BIND.failure(Errno.EADDRINUSE.number(), "name=" + other.resolve(name));
        }
    }

    /**
     * Says that this network namespace has an address, for processes of others that look for a listener at all
     * addresses; harmless if it fails, and again.
     */
    public void tellAddress(String host) {
        for (Path place : places) {
            Path file = place.resolve(directory).resolve(ADDRESS_PREFIX + host);
            try {
                if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                    Files.createFile(file);
                }
            } catch (IOException e) {
                continue; // no directory, or another thread was quicker
            }
        }
    }

    /** The directories of other users that may be permitted here, or of other network namespaces. */
    private List<Path> others(boolean sameNetwork) {
        List<Path> all = new ArrayList<>();
        for (Path place : places) {
            try (DirectoryStream<Path> found = Files.newDirectoryStream(place, PREFIX + "*")) {
                int looked = 0;
                for (Path other : found) {
                    String name = other.getFileName().toString();
                    if (name.endsWith(suffix) == sameNetwork && !name.equals(directory) && isOfPermitted(other)) {
                        all.add(other);
                    }
                    if (++looked == MOST_LOOKED_AT) {
                        break;
                    }
                }
            } catch (IOException | RuntimeException e) {
                continue; // not for us to see
            }
        }
        return all;
    }

    private boolean isOfPermitted(Path path) {
        long found = stat(path);
        int owner = (int) (found >>> Integer.SIZE);
        return found != -1 && ((int) found & TYPE) == DIRECTORY && (owner == user || policy().mayPermit(owner));
    }

    /** Makes the directory unless it is there: what is wrong with it, or null. */
    private String make(Path place, Path directoryHere) {
        String problem = problem(place, directoryHere);
        if (problem == null || Files.exists(directoryHere, LinkOption.NOFOLLOW_LINKS)) {
            return problem;
        }
        try {
            Files.createDirectory(directoryHere, PosixFilePermissions.asFileAttribute(
                    PosixFilePermissions.fromString("rwx------")));
            Files.setPosixFilePermissions(directoryHere, PosixFilePermissions.fromString("rwx--x--x"));
        } catch (IOException | RuntimeException e) {
            return e instanceof FileAlreadyExistsException
                    ? problem(place, directoryHere) // another process was quicker
                    : directoryHere + " cannot be made (" + e.getClass().getSimpleName() + ")";
        }
        return problem(place, directoryHere);
    }

    /** Why a directory must not be used, or null. */
    private String problem(Path place, Path directoryHere) {
        String above = problem(place, false);
        return above != null ? above : problem(directoryHere, true);
    }

    /** The owner of a file, in the upper half, and its mode; -1 if it is not there. */
    private static long stat(Path path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(Posix.STAT_BYTES, Long.BYTES);
            if (Posix.SYSCALL.call(Posix.NEWFSTATAT, Posix.AT_FDCWD, Posix.text(arena, path.toString()).address(),
                    found.address(), Posix.AT_SYMLINK_NOFOLLOW) < 0) {
                return -1;
            }
            return (long) Posix.buffer(found).getInt(Posix.STAT_USER) << Integer.SIZE
                    | Posix.buffer(found).getInt(Posix.STAT_MODE);
        }
    }

    private String problem(Path path, boolean own) {
        long found = stat(path);
        int mode = (int) found;
        int owner = (int) (found >>> Integer.SIZE);
        if (found == -1) {
            return path + " is not there";
        }
        if ((mode & TYPE) != DIRECTORY) {
            return path + " is no directory";
        }
        if (!own && path.equals(policy().directory())) {
            return null; // the settings trust it, and so do both ends in the kernel's word alone
        }
        if (own ? owner != user : owner != user && owner != 0 && owner != UserNamespace.overflowUser()) {
            return path + " belongs to user " + Integer.toUnsignedString(owner);
        }
        if ((mode & OTHERS_WRITE) != 0 && (own || (mode & STICKY) == 0)) {
            return "others may write to " + path;
        }
        return null;
    }

    private PacketSocket listen(Path directoryHere, Path file, int backlog) throws VerbsException {
        try {
            return PacketSocket.listen(file.toString(), backlog);
        } catch (VerbsException e) {
            if (e.errno() != Errno.EADDRINUSE || isAnswered(file)) {
                throw e;
            }
        }
        int lock = open(directoryHere);
        try {
            lock(lock, file);
            removeIfLeft(file);
            return PacketSocket.listen(file.toString(), backlog);
        } finally {
            Posix.close(lock);
        }
    }

    private static int open(Path path) throws VerbsException {
        return open(path, Posix.O_DIRECTORY);
    }

    private static int open(Path path, int flags) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            return (int) Posix.OPEN.check("path=" + path, Posix.text(arena, path.toString()).address(),
                    flags | Posix.O_CLOEXEC);
        }
    }

    /**
     * Opens a file of this user's processes, which stays, to lock parts of it, and makes it unless it is there. Throws
     * if there is no directory that only this user may write to, or no descriptor left.
     */
    int openFile(String name) throws VerbsException {
        for (Path place : places) {
            Path directoryHere = place.resolve(directory);
            if (make(place, directoryHere) == null) {
                Path file = directoryHere.resolve(name);
                if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                    return open(file, Posix.O_RDWR | Posix.O_NOFOLLOW);
                }
                try {
                    Files.createFile(file, PosixFilePermissions.asFileAttribute(
                            PosixFilePermissions.fromString("rw-------")));
                } catch (IOException | RuntimeException e) {
                    if (!(e instanceof FileAlreadyExistsException)) {
                        continue;
                    }
                }
                return open(file, Posix.O_RDWR | Posix.O_NOFOLLOW);
            }
        }
        throw Posix.OPEN.failure(Errno.ENOENT.number(), "name=" + name);
    }

    /** Removes names that processes have left behind when they were killed, unless another does so now. */
    private static void sweep(Path directoryHere) {
        int lock = -1;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directoryHere)) {
            lock = open(directoryHere);
            if (Posix.FLOCK.call(lock, Posix.LOCK_EX_NB) < 0) {
                return;
            }
            int looked = 0;
            for (Path file : files) {
                if (++looked > MOST_LOOKED_AT) {
                    return;
                }
                if (file.endsWith(PortLocks.FILE) || file.getFileName().toString().startsWith(ADDRESS_PREFIX)) {
                    continue;
                }
                long age = System.currentTimeMillis() - Files.getLastModifiedTime(file).toMillis();
                if (age > OLD_MILLIS && !isAnswered(file)) {
                    delete(file);
                }
            }
        } catch (IOException | RuntimeException e) {
            return; // the next process sweeps
        } finally {
            if (lock >= 0) {
                Posix.close(lock);
            }
        }
    }

    /** Waits for other processes that clean up, for a while: one may have been stopped. */
    private static void lock(int descriptor, Path file) throws VerbsException {
        long deadline = System.nanoTime() + LOCK_NANOS;
        while (Posix.FLOCK.call(descriptor, Posix.LOCK_EX_NB) < 0) {
            if (System.nanoTime() - deadline > 0) {
                throw Posix.BIND.failure(Errno.EADDRINUSE.number(), "name=" + file);
            }
            LockSupport.parkNanos(STEP_NANOS);
        }
    }

    /** Removes a file that a process has left behind; the directory is locked. */
    private static void removeIfLeft(Path file) throws VerbsException {
        long deadline = System.nanoTime() + STALE_NANOS;
        while (System.nanoTime() - deadline < 0) {
            if (isAnswered(file)) {
                throw Posix.BIND.failure(Errno.EADDRINUSE.number(), "name=" + file);
            }
            LockSupport.parkNanos(STEP_NANOS);
        }
        delete(file);
    }

    /** Whether a process listens, or that cannot be told. */
    private static boolean isAnswered(Path file) {
        try {
            PacketSocket.connect(file.toString()).close();
            return true;
        } catch (VerbsException e) {
            return e.errno() != Errno.ECONNREFUSED && e.errno() != Errno.ENOENT;
        }
    }

    /**
     * Connects to the process that listens under the first of some names, of this user or else of a permitted one; throws
     * {@code ECONNREFUSED} if none does, {@code EAGAIN} if the listener's backlog is full, {@code EACCES} if it is of a
     * user that is not permitted.
     */
    public PacketSocket connect(String... names) throws VerbsException {
        List<Path> directories = new ArrayList<>(places.size());
        for (Path place : places) {
            Path directoryHere = place.resolve(directory);
            if (problem(place, directoryHere) == null) {
                directories.add(directoryHere);
            }
        }
        List<Path> candidates = files(directories, names);
        if (policy().isForOthers()) {
            candidates.addAll(files(others(true), names));
        }
        return connectToAny(candidates, names[0]);
    }

    private static List<Path> files(List<Path> directories, String... names) {
        List<Path> files = new ArrayList<>(directories.size() * names.length);
        for (String name : names) {
            for (Path one : directories) {
                files.add(one.resolve(name));
            }
        }
        return files;
    }

    /**
     * Connects to the process in another network namespace that listens under a name, or under that of all addresses
     * where the namespace has the host's; throws as {@link #connect(String)}.
     */
    public PacketSocket connectElsewhere(String host, String name, String wildcard) throws VerbsException {
        return connectToAny(elsewhere(host, name, wildcard), name);
    }

    /** Whether a process in another network namespace has such a name: it may have gone, or not be permitted. */
    public boolean isElsewhere(String host, String name, String wildcard) {
        return !elsewhere(host, name, wildcard).isEmpty();
    }

    private List<Path> elsewhere(String host, String name, String wildcard) {
        List<Path> found = new ArrayList<>();
        for (Path other : others(false)) {
            if (Files.exists(other.resolve(name), LinkOption.NOFOLLOW_LINKS)) {
                found.add(other.resolve(name));
            }
            if (Files.exists(other.resolve(ADDRESS_PREFIX + host), LinkOption.NOFOLLOW_LINKS)
                    && Files.exists(other.resolve(wildcard), LinkOption.NOFOLLOW_LINKS)) {
                found.add(other.resolve(wildcard));
            }
        }
        return found;
    }

    private static PacketSocket connectToAny(List<Path> candidates, String name) throws VerbsException {
        VerbsException refusal = null;
        for (Path file : candidates) {
            try {
                return connect(file);
            } catch (VerbsException e) {
                if (e.errno() == Errno.EACCES) {
                    refusal = e; // another's may be permitted
                } else if (e.errno() != Errno.ECONNREFUSED && e.errno() != Errno.ENOENT) {
                    throw e;
                }
            }
        }
        throw refusal != null ? refusal : Posix.CONNECT.failure(Errno.ECONNREFUSED.number(), "name=" + name);
    }

    /** Connects to a file, and looks at the listener. */
    private static PacketSocket connect(Path file) throws VerbsException {
        PacketSocket socket;
        try {
            socket = PacketSocket.connect(file.toString());
        } catch (VerbsException e) {
            throw e.errno() != Errno.EACCES ? e
                    : SharingPolicy.notPermitted(file.toString(), (int) (stat(file) >>> Integer.SIZE));
        }
        try {
            PacketSocket.Peer peer = socket.peer();
            if (!policy().permits(peer, socket)) {
                throw SharingPolicy.notPermitted(file.toString(), peer.user());
            }
            return socket;
        } catch (Throwable e) {
            socket.close();
            throw e;
        }
    }

    /** Where a name of this user is; null if it is not there. */
    Path file(String name) {
        for (Path place : places) {
            Path file = place.resolve(directory).resolve(name);
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                return file;
            }
        }
        return null;
    }

    /**
     * Looks for another user who listens under a name, so that a failed connect can say so. Gives the user's number as
     * this process sees it, or -1 if there is none.
     */
    public long otherUser(String name) {
        for (Path place : places) {
            try (DirectoryStream<Path> found = Files.newDirectoryStream(place)) {
                int looked = 0;
                for (Path other : found) {
                    long owner = owner(other, name);
                    if (owner >= 0 || ++looked == MOST_LOOKED_AT) {
                        return owner;
                    }
                }
            } catch (IOException | RuntimeException e) {
                continue; // not for us to see
            }
        }
        return -1;
    }

    private long owner(Path other, String name) {
        String itsName = other.getFileName().toString();
        if (!itsName.startsWith(PREFIX) || !itsName.endsWith(suffix) || itsName.equals(directory)) {
            return -1;
        }
        try {
            Map<String, Object> file = Files.readAttributes(other.resolve(name), "unix:uid", LinkOption.NOFOLLOW_LINKS);
            return Integer.toUnsignedLong((int) file.get("uid"));
        } catch (IOException | RuntimeException e) {
            return -1;
        }
    }
}
