package org.rdmasockets.internal.sharedmemory.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.internal.ffi.AvailabilityMain;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.ffi.SocketDirectory;
import org.rdmasockets.internal.ffi.StrangerMain;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** Listeners of other users, versions and namespaces: what is refused is refused with a reason. */
@Timeout(180)
class ForeignersTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final List<String> GRANTED = List.of("--enable-native-access=ALL-UNNAMED");
    private static final int PATIENCE_MILLIS = 60_000;

    private static InetSocketAddress freePort() throws Exception {
        try (ServerSocket free = new ServerSocket(0, 1, LOOPBACK)) {
            return new InetSocketAddress(LOOPBACK, free.getLocalPort());
        }
    }

    private static List<String> as(int user) {
        return List.of("setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups");
    }

    /** Tries what a test needs; if it fails, prints that the test is not run, and why. */
    static boolean canRun(String test, String... command) throws InterruptedException {
        String reason;
        try {
            reason = new ProcessBuilder(command).start().waitFor() == 0 ? null : "it fails here";
        } catch (IOException e) {
            reason = e.getMessage();
        }
        if (reason != null) {
            System.out.println(test + " is not run: it needs '" + String.join(" ", command) + "': " + reason);
        }
        return reason == null;
    }

    /** Whether the kernel tells processes of other PID namespaces apart: from Linux 6.9 on. */
    static boolean hasProcessInodes() {
        String[] release = System.getProperty("os.version").split("[.-]");
        return Integer.parseInt(release[0]) * 100 + Integer.parseInt(release[1]) >= 609;
    }

    private static boolean canChangeUser(String test) throws InterruptedException {
        List<String> command = new ArrayList<>(as(65534));
        command.add("true");
        return canRun(test, command.toArray(String[]::new));
    }

    private static Void connect(InetSocketAddress address, int timeoutMillis) throws Exception {
        try (RdmaSocket socket = new RdmaSocket()) {
            socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            socket.connect(address, timeoutMillis);
            return null;
        }
    }

    @Test
    void aClientIsToldThatTheListenerIsOfAnotherUser() throws Exception {
        if (!canChangeUser("aClientIsToldThatTheListenerIsOfAnotherUser")) {
            return;
        }
        for (boolean wildcard : new boolean[] {false, true}) {
            InetSocketAddress address = freePort();
            String name = wildcard ? LinkListener.wildcard(address, false) : LinkListener.name(address, false);
            Process holder = ChildJvm.start(as(65534), GRANTED, StrangerMain.class, "listen", name);
            try (BufferedReader output = holder.inputReader()) {
                assertEquals("ready as user 65534", output.readLine());
                String told = assertThrows(ConnectException.class,
                        () -> connect(address, PATIENCE_MILLIS)).getMessage();
                assertTrue(told.startsWith("Connection refused: " + address), told);
                assertTrue(told.contains("the listener is user 65534's"), told);
            } finally {
                holder.destroyForcibly().waitFor();
            }
        }
    }

    /** Answers peers that connected in another version, and hangs up. */
    private static void answerAll(SocketDirectory.Named named) throws Exception {
        PacketBuffer buffer = new PacketBuffer();
        List<PacketSocket> accepted = new ArrayList<>();
        Await.until("somebody to say hello", () -> {
            for (PacketSocket next = named.socket().accept(); next != null; next = named.socket().accept()) {
                next.admitDescriptors();
                accepted.add(next);
            }
            boolean answered = false;
            for (PacketSocket one : accepted) {
                if (one.receive(buffer) > 0) {
                    LinkPacket.write(buffer, LinkPacket.WELCOME, LinkPacket.VERSION + 1, 1);
                    one.send(buffer, LinkPacket.BYTES, -1);
                    answered = true;
                }
            }
            return answered;
        });
        accepted.forEach(PacketSocket::close);
    }

    @Test
    void aClientIsToldThatTheListenerSpeaksAnotherVersion() throws Exception {
        InetSocketAddress address = freePort();
        SocketDirectory.Named named = SocketDirectory.own().listen(LinkListener.name(address, false), 8);
        try {
            Call<Void> connect = Call.start(ThreadKind.PLATFORM, "connect", () -> connect(address, PATIENCE_MILLIS));
            answerAll(named);
            String told = assertThrows(ConnectException.class, connect::result).getMessage();
            assertTrue(told.contains("speaks version " + (LinkPacket.VERSION + 1)), told);
        } finally {
            named.close();
        }
    }

    @Test
    void aListenerWithoutRoomIsTriedAgainWithinTheTimeOfTheConnect() throws Exception {
        InetSocketAddress address = freePort();
        SocketDirectory.Named named = SocketDirectory.own().listen(LinkListener.name(address, false), 1);
        List<PacketSocket> silent = new ArrayList<>();
        try {
            VerbsException full = assertThrows(VerbsException.class, () -> {
                while (true) {
                    silent.add(SocketDirectory.own().connect(LinkListener.name(address, false)));
                }
            });
            assertEquals(Errno.EAGAIN, full.errno());
            assertThrows(SocketTimeoutException.class, () -> connect(address, 300));
            Call<Void> connect = Call.start(ThreadKind.VIRTUAL, "connect", () -> connect(address, PATIENCE_MILLIS));
            connect.awaitBlocked();
            answerAll(named);
            String told = assertThrows(ConnectException.class, connect::result).getMessage();
            assertTrue(told.contains("speaks version"), told);
        } finally {
            silent.forEach(PacketSocket::close);
            named.close();
        }
    }

    @Test
    void aListenerWhoseUsersDirectoriesAreTakenListensOverTcpAndSaysWhy() throws Exception {
        if (!canChangeUser("aListenerWhoseUsersDirectoriesAreTakenListensOverTcpAndSaysWhy")) {
            return;
        }
        int user = 64321;
        SocketDirectory.Named own = SocketDirectory.own().listen("test-of-directories", 1);
        own.close();
        String name = own.file().getParent().getFileName().toString().replaceFirst("-\\d+-", "-" + user + "-");
        List<Path> taken = List.of(Path.of("/dev/shm", name), Path.of("/tmp", name));
        try {
            for (Path directory : taken) {
                Files.createDirectory(directory);
                Files.setAttribute(directory, "unix:uid", 65534, LinkOption.NOFOLLOW_LINKS);
            }
            String said = ChildJvm.run(as(user), List.of(GRANTED.getFirst(),
                    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info"), ForeignersMain.class);
            assertTrue(said.contains("echoed over tcp"), said);
            assertTrue(said.contains("left out: sharedmemory"), said);
            assertTrue(said.contains(name + " belongs to user 65534"), said);
        } finally {
            for (Path directory : taken) {
                Files.deleteIfExists(directory);
            }
        }
    }

    @Test
    void aUserWhoStandsForManySharesNoMemory() throws Exception {
        if (!canRun("aUserWhoStandsForManySharesNoMemory", "unshare", "-U", "true")) {
            return;
        }
        String unmapped = ChildJvm.run(List.of("unshare", "-U"), GRANTED, AvailabilityMain.class);
        assertTrue(unmapped.contains("which in this user namespace stands for every user"), unmapped);
        String mapped = ChildJvm.run(List.of("unshare", "-U", "-r"), GRANTED, AvailabilityMain.class);
        assertTrue(mapped.contains("available"), mapped);
    }
}
