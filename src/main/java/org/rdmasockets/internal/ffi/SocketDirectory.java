package org.rdmasockets.internal.ffi;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The directory of the names of packet sockets, one for each user and network namespace: no other user can take or
 * remove a name in it, or connect to one unless {@link SharingPolicy} permits that. It is looked for in a few places,
 * or in the one that the policy names, so that another user who takes its name in one of them does no harm: a directory
 * counts only if this user owns it and no other user may write to it. Others may look a name up, to learn whose it is.
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
    private static final int SOCKET = 0140000;
    /**
     * How long a name must be unanswered before it counts as abandoned: between bind and listen it is unanswered, too.
     */
    private static final long STALE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    /** Between bind and listen a name is younger than this. */
    private static final long OLD_MILLIS = 10_000;
    private static final long LOCK_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Most files looked at while looking for another user who listens, or for abandoned names. */
    private static final int MOST_LOOKED_AT = 512;
    /** Most directories looked at while looking for those of permitted users. */
    private static final int MOST_OF_OTHERS = 4096;

    /** The files that say which addresses the namespace of a directory has, where a name of all addresses counts. */
    private static final String ADDRESS_PREFIX = "at-";

    /** The directory of this process; guarded by the class. */
    private static SocketDirectory ofProcess;

    private final SharingPolicy policy = SharingPolicy.current();
    private final List<Path> places;
    private final int user;
    /** The name of the directory, but for the user. */
    private final String suffix;
    private final String directory;
    /** Whether this process has looked for abandoned names. */
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
            Path named = SharingPolicy.current().directory();
            ofProcess = new SocketDirectory(named != null ? List.of(named) : List.of(Path.of("/dev/shm"),
                    Path.of("/run/user/" + UserNamespace.outerUser(PacketSocket.ownUser())), Path.of("/tmp")));
        }
        return ofProcess;
    }

    private static String networkNamespace() {
        try {
            String link = Files.readSymbolicLink(Path.of("/proc/self/ns/net")).toString(); // net:[4026531840]
            return link.substring(link.indexOf('[') + 1, link.length() - 1);
        } catch (IOException | RuntimeException e) {
            return "0"; // all processes that do not see /proc say so
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

    private static Named named(PacketSocket socket, Path file) {
        try {
            return new Named(socket, file);
        } catch (Error e) {
            socket.close(); // the next process to want the name finds that none listens
            throw e;
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
            Path directoryHere = usable(place, problems);
            if (directoryHere == null) {
                continue;
            }
            requireFreeElsewhere(place, name);
            if (!swept.getAndSet(true)) {
                sweep(directoryHere);
            }
            try {
                Path file = directoryHere.resolve(name);
                return named(listen(directoryHere, file, backlog), file);
            } catch (VerbsException e) {
                if (e.errno() == Errno.EADDRINUSE || e.errno() == Errno.EMFILE || e.errno() == Errno.ENFILE) {
                    throw e;
                }
                problems.add(e.getMessage());
            }
        }
        throw none("name=" + name, problems);
    }

    /** The directory in a place, made unless it is there; null if it must not be used, with the reason noted. */
    private Path usable(Path place, List<String> problems) {
        Path directoryHere = place.resolve(directory);
        String problem = make(place, directoryHere);
        if (problem != null) {
            problems.add(problem);
        }
        return problem == null ? directoryHere : null;
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
            Path directoryHere = usable(place, problems);
            if (directoryHere != null) {
                return directoryHere;
            }
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
        for (Path other : policy.isForOthers() ? others(true) : List.<Path>of()) {
            try {
                connectToOther(other.resolve(name)).close();
            } catch (VerbsException e) {
                if (e.errno() != Errno.EAGAIN) {
                    continue; // no permitted process listens there
                }
            }
            throw Posix.BIND.failure(Errno.EADDRINUSE.number(), "name=" + other.resolve(name));
        }
    }

    /**
     * Says which addresses this network namespace has, for processes in others that look for a listener at all
     * addresses; may fail or be repeated without harm.
     */
    public void tellAddresses(Set<String> hosts) {
        for (Path place : places) {
            Path directoryHere = place.resolve(directory);
            try (DirectoryStream<Path> told = Files.newDirectoryStream(directoryHere, ADDRESS_PREFIX + "*")) {
                for (Path file : told) {
                    if (!hosts.contains(file.getFileName().toString().substring(ADDRESS_PREFIX.length()))) {
                        delete(file);
                    }
                }
                for (String host : hosts) {
                    Path file = directoryHere.resolve(ADDRESS_PREFIX + host);
                    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                        Files.createFile(file);
                    }
                }
            } catch (IOException | DirectoryIteratorException e) {
                continue; // no directory, or another process was quicker
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
                    if (++looked == MOST_OF_OTHERS) {
                        break;
                    }
                }
            } catch (IOException | RuntimeException e) {
                continue; // this user may not read it
            }
        }
        return all;
    }

    private boolean isOfPermitted(Path path) {
        Owned found = stat(path);
        return found != null && found.is(DIRECTORY)
                && (found.user() == user || policy.mayPermit(found.user()));
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

    /** The owner of a file, its group and its mode. */
    private record Owned(int user, int group, int mode) {
        boolean is(int type) {
            return (mode & TYPE) == type;
        }
    }

    /** Looks a file up, without following a link; null if it is not there. */
    private static Owned stat(Path path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(Posix.STAT_BYTES, Long.BYTES);
            if (Posix.SYSCALL.call(Posix.NEWFSTATAT, Posix.AT_FDCWD, Posix.text(arena, path.toString()).address(),
                    found.address(), Posix.AT_SYMLINK_NOFOLLOW) < 0) {
                return null;
            }
            ByteBuffer fields = Posix.buffer(found);
            return new Owned(fields.getInt(Posix.STAT_USER), fields.getInt(Posix.STAT_GROUP),
                    fields.getInt(Posix.STAT_MODE));
        }
    }

    private String problem(Path path, boolean own) {
        Owned found = stat(path);
        if (found == null) {
            return path + " is not there";
        }
        if (!found.is(DIRECTORY)) {
            return path + " is no directory";
        }
        int owner = found.user();
        if (own ? owner != user : owner != user && owner != 0 && owner != UserNamespace.overflowUser()) {
            return path + " belongs to user " + Integer.toUnsignedString(owner);
        }
        if ((found.mode() & OTHERS_WRITE) != 0 && (own || (found.mode() & STICKY) == 0)) {
            return "others may write to " + path + (own ? "" : ", and it is not sticky: chmod +t " + path);
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

    /** Removes the names of killed processes, unless another process does so now. */
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
                Owned found = stat(file);
                if (found == null || !found.is(SOCKET)) {
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
            LibraryThreads.pause();
        }
    }

    /** Removes an abandoned file; the directory is locked. */
    private static void removeIfLeft(Path file) throws VerbsException {
        long deadline = System.nanoTime() + STALE_NANOS;
        while (System.nanoTime() - deadline < 0) {
            if (isAnswered(file)) {
                throw Posix.BIND.failure(Errno.EADDRINUSE.number(), "name=" + file);
            }
            LibraryThreads.pause(); // a park needs memory, without which a virtual thread would keep the lock
        }
        delete(file);
    }

    /** Whether a process listens there; true also if that cannot be told. */
    private static boolean isAnswered(Path file) {
        try {
            PacketSocket.connect(file.toString()).close();
            return true;
        } catch (VerbsException e) {
            return e.errno() != Errno.ECONNREFUSED && e.errno() != Errno.ENOENT;
        }
    }

    /**
     * Connects to the process that listens under the first of some names, of this user or else of a permitted one.
     * Throws {@code ECONNREFUSED} if none does, {@code EAGAIN} if the listener's backlog is full, {@code EACCES} if it
     * is of a user that is not permitted.
     */
    public PacketSocket connect(String... names) throws VerbsException {
        for (String name : names) {
            for (Path place : places) {
                Path directoryHere = place.resolve(directory);
                if (problem(place, directoryHere) == null) {
                    try {
                        return connect(directoryHere.resolve(name), user);
                    } catch (VerbsException e) {
                        if (e.errno() != Errno.ECONNREFUSED && e.errno() != Errno.ENOENT) {
                            throw e;
                        }
                    }
                }
            }
        }
        List<Path> others = new ArrayList<>(0);
        for (Path other : policy.isForOthers() ? others(true) : List.<Path>of()) {
            for (String name : names) {
                others.add(other.resolve(name));
            }
        }
        return connectToAny(others, names[0]);
    }

    /**
     * Connects to the process in another network namespace that listens under a name, or under that of all addresses
     * where the namespace has the host's; throws as {@link #connect(String...)}.
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

    /**
     * Connects to the first of some files behind which a permitted process listens. Fails for the reason of one that
     * has too much to do, else of one that is not permitted.
     */
    private PacketSocket connectToAny(List<Path> files, String name) throws VerbsException {
        VerbsException reason = null;
        for (Path file : files) {
            try {
                return connectToOther(file);
            } catch (VerbsException e) {
                boolean busy = e.errno() == Errno.EAGAIN;
                reason = busy || e.errno() == Errno.EACCES && reason == null ? e : reason;
            }
        }
        throw reason != null ? reason : Posix.CONNECT.failure(Errno.ECONNREFUSED.number(), "name=" + name);
    }

    /** Connects to a file in another's directory; it may be anything. */
    private PacketSocket connectToOther(Path file) throws VerbsException {
        Owned found = stat(file);
        if (found == null || !found.is(SOCKET)) {
            throw Posix.CONNECT.failure(Errno.ENOENT.number(), "name=" + file);
        }
        if (found.user() != user && !policy.mayPermit(found.user(), found.group())) {
            throw SharingPolicy.notPermitted(file.toString(), found.user());
        }
        try {
            return connect(file, found.user());
        } catch (VerbsException e) {
            throw e.errno() == Errno.EACCES ? SharingPolicy.notPermitted(file.toString(), found.user()) : e;
        }
    }

    /** Connects to the listener of a file, if it is of the file's owner and is permitted. */
    private PacketSocket connect(Path file, int owner) throws VerbsException {
        PacketSocket socket = PacketSocket.connect(file.toString());
        try {
            PacketSocket.Peer peer = socket.peer();
            if (peer.user() != owner || !policy.permits(peer, socket)) {
                throw SharingPolicy.notPermitted(file.toString(), peer.user());
            }
            if (policy.isForOthers()) {
                socket.admitDescriptors();
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
     * Looks for another user who listens under one of some names, so that a failed connect can say so. Gives the user's
     * number as this process sees it, or -1 if there is none.
     */
    public long otherUser(String... names) {
        for (Path place : places) {
            try (DirectoryStream<Path> found = Files.newDirectoryStream(place)) {
                int looked = 0;
                for (Path other : found) {
                    long owner = owner(other, names);
                    if (owner >= 0 || ++looked == MOST_LOOKED_AT) {
                        return owner;
                    }
                }
            } catch (IOException | RuntimeException e) {
                continue; // this user may not read it
            }
        }
        return -1;
    }

    private long owner(Path other, String... names) {
        String itsName = other.getFileName().toString();
        if (!itsName.startsWith(PREFIX) || !itsName.endsWith(suffix) || itsName.equals(directory)) {
            return -1;
        }
        for (String name : names) {
            Owned found = stat(other.resolve(name));
            if (found != null) {
                return Integer.toUnsignedLong(found.user());
            }
        }
        return -1;
    }
}
