package org.rdmasockets.internal.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** Names and who may take them, and users that cannot be told apart. */
@Timeout(120)
class SocketDirectoryTest {
    private static final int NOBODY = 65534;
    private static final List<String> GRANTED = List.of("--enable-native-access=ALL-UNNAMED");

    /** Short enough for the path of a socket. */
    @TempDir
    private Path above;
    private Path first;
    private Path second;

    @BeforeEach
    void makePlaces() throws Exception {
        first = Files.createDirectory(above.resolve("1"));
        second = Files.createDirectory(above.resolve("2"));
        Files.setAttribute(first, "unix:mode", 01777);
        Files.setAttribute(second, "unix:mode", 01777);
    }

    private SocketDirectory places() {
        return new SocketDirectory(List.of(first, second));
    }

    /** Takes a name, and where its directory is. */
    private Path take(String name) throws VerbsException {
        SocketDirectory.Named named = places().listen(name, 8);
        named.close();
        return named.file().getParent();
    }

    @Test
    void aNameIsTakenOnceAndFreeAgainWhenItIsClosed() throws Exception {
        SocketDirectory.Named named = places().listen("*-1", 8);
        VerbsException taken = assertThrows(VerbsException.class, () -> places().listen("*-1", 8));
        assertEquals(Errno.EADDRINUSE, taken.errno());
        places().connect("*-1").close();
        assertEquals(PosixFilePermissions.fromString("rw-------"), Files.getPosixFilePermissions(named.file()));
        named.close();
        assertEquals(Errno.ECONNREFUSED, assertThrows(VerbsException.class, () -> places().connect("*-1")).errno());
        take("*-1");
    }

    @Test
    void whoeverTookANameWhenAnotherPlaceWasTheFirstKeepsIt() throws Exception {
        Path directory = take("*-1");
        SocketDirectory.Named there = new SocketDirectory(List.of(second)).listen("*-1", 8);
        assertTrue(directory.startsWith(first));
        assertEquals(Errno.EADDRINUSE,
                assertThrows(VerbsException.class, () -> places().listen("*-1", 8)).errno());
        places().connect("*-1").close();
        there.close();
    }

    @Test
    void aDirectoryThatOthersMayChangeIsPassedOver() throws Exception {
        Path directory = take("*-1");
        assertTrue(directory.startsWith(first));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwx---"));
        assertTrue(take("*-1").startsWith(second), "others may write to the first");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        Files.setAttribute(first, "unix:mode", 0777);
        assertTrue(take("*-1").startsWith(second), "others may replace the first: its place is not sticky");
        Files.setAttribute(first, "unix:mode", 01777);
        assertTrue(take("*-1").startsWith(first));
    }

    @Test
    void aLinkOrAFileInPlaceOfTheDirectoryIsPassedOver() throws Exception {
        Path directory = take("*-1");
        Files.delete(directory);
        Path elsewhere = Files.createDirectory(above.resolve("3"));
        Files.createSymbolicLink(directory, elsewhere);
        assertTrue(take("*-1").startsWith(second), "a link");
        Files.delete(directory);
        Files.createFile(directory);
        assertTrue(take("*-1").startsWith(second), "a file");
    }

    @Test
    void aDirectoryOfAnotherUserIsPassedOverAndWithoutAnotherPlaceTheReasonIsTold() throws Exception {
        if (PacketSocket.ownUser() != 0) {
            System.out.println("Not tried: only root can give a directory to another user");
            return;
        }
        Path directory = take("*-1");
        Files.setAttribute(directory, "unix:uid", NOBODY, LinkOption.NOFOLLOW_LINKS);
        Path other = take("*-1");
        assertTrue(other.startsWith(second));
        Files.setAttribute(other, "unix:uid", NOBODY, LinkOption.NOFOLLOW_LINKS);
        VerbsException refusal = assertThrows(VerbsException.class, () -> places().listen("*-1", 8));
        assertTrue(refusal.remedy().contains(directory + " belongs to user 65534"), refusal.getMessage());
        assertTrue(refusal.remedy().contains(other + " belongs to user 65534"), refusal.getMessage());
        assertEquals(Errno.ECONNREFUSED, assertThrows(VerbsException.class, () -> places().connect("*-1")).errno());
    }

    @Test
    void aNameOfAKilledProcessIsTakenOver() throws Exception {
        Process holder = ChildJvm.start(List.of(), GRANTED, StrangerMain.class, "listen", "test-of-a-killed-process");
        try (BufferedReader output = holder.inputReader()) {
            assertTrue(output.readLine().startsWith("ready"));
            assertEquals(Errno.EADDRINUSE, assertThrows(VerbsException.class,
                    () -> SocketDirectory.own().listen("test-of-a-killed-process", 8)).errno());
        } finally {
            holder.destroyForcibly().waitFor();
        }
        FutureTask<SocketDirectory.Named> take = new FutureTask<>(
                () -> SocketDirectory.own().listen("test-of-a-killed-process", 8));
        Thread taker = Thread.startVirtualThread(take);
        while (!take.isDone()) {
            assertNotEquals(Thread.State.TIMED_WAITING, taker.getState(),
                    "without memory for a timer it would keep the directory's lock from all processes");
        }
        SocketDirectory.Named named = take.get();
        assertTrue(Files.exists(named.file()), "the name was left behind, and is ours now");
        named.close();
        assertFalse(Files.exists(named.file()));
    }

    @Test
    void oldNamesThatNobodyAnswersAreRemovedByTheNextProcess() throws Exception {
        SocketDirectory.Named left = places().listen("*-1", 8);
        SocketDirectory.Named alive = places().listen("*-2", 8);
        left.socket().close();
        FileTime old = FileTime.fromMillis(0);
        Files.setLastModifiedTime(left.file(), old);
        Files.setLastModifiedTime(alive.file(), old);
        take("*-3");
        assertFalse(Files.exists(left.file()), "nobody answers");
        assertTrue(Files.exists(alive.file()), "somebody answers");
        alive.close();
    }

    @Test
    void usersWithoutANumberOfTheirOwnAreToldApartFromNobodyElse() throws Exception {
        Path map = Files.writeString(above.resolve("map"), "         0       1000          1\n");
        Path all = Files.writeString(above.resolve("all"), "         0          0 4294967295\n");
        Path many = Files.writeString(above.resolve("many"), "0 100000 65536\n");
        Path overflow = Files.writeString(above.resolve("overflow"), "1234\n");
        Path missing = above.resolve("missing");
        assertTrue(UserNamespace.problem(0, map, overflow).isEmpty());
        assertTrue(UserNamespace.problem(1234, map, overflow).orElseThrow().contains("user 1234"));
        assertTrue(UserNamespace.problem(1234, many, overflow).isPresent(), "mapped, but so reads whoever is not");
        assertTrue(UserNamespace.problem(1234, all, overflow).isEmpty(), "all users have numbers of their own");
        assertTrue(UserNamespace.problem(65534, missing, missing).isPresent(), "/proc is hidden");
        assertTrue(UserNamespace.problem(1, missing, missing).isEmpty());
    }
}
