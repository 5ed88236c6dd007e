package org.rdmasockets.internal.sharedmemory.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** Processes of two users, and of two containers made of namespaces, share memory when both are told to. */
@Timeout(180)
class SharingTest {
    private static final String LOOPBACK = "127.0.0.1";
    private static final int SERVER = 65534;
    private static final int CLIENT = 64341;
    private static final int STRANGER = 64342;

    private final List<Process> started = new ArrayList<>();
    private Path directory;
    private BufferedReader said;
    private PrintStream orders;

    @BeforeEach
    void makeDirectory() throws Exception {
        directory = Files.createTempDirectory("sh");
        Files.setAttribute(directory, "unix:mode", 01777);
    }

    @AfterEach
    void endAll() throws Exception {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
        delete(directory);
        try (DirectoryStream<Path> left = Files.newDirectoryStream(Path.of("/dev/shm"),
                "org.rdmasockets-{" + CLIENT + "," + STRANGER + "}-*")) {
            for (Path one : left) {
                delete(one);
            }
        }
    }

    private static void delete(Path tree) throws IOException {
        try (Stream<Path> files = Files.walk(tree)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        }
    }

    private static List<String> as(int user, int group) {
        return List.of("setpriv", "--reuid=" + user, "--regid=" + group, "--clear-groups");
    }

    /** A container: its own mounts, processes and messages, and no directory of this host's for shared memory. */
    private static List<String> container() {
        return List.of("unshare", "--mount", "--pid", "--ipc", "--kill-child", "sh", "-c",
                "mount -t tmpfs none /dev/shm && mount -t proc none /proc && exec \"$@\"", "container");
    }

    /** The same with a network of its own, where an address leads into nothing. */
    private static List<String> containerAt(String address) {
        return List.of("unshare", "--net", "--mount", "--pid", "--ipc", "--kill-child", "sh", "-c",
                "ip link set lo up && ip address add " + address + (address.indexOf(':') < 0 ? "/24" : "/64 nodad")
                        + " dev lo && mount -t tmpfs none /dev/shm && mount -t proc none /proc && exec \"$@\"",
                "container");
    }

    private static boolean canRun(String test, List<String> prefix) throws Exception {
        List<String> command = new ArrayList<>(prefix);
        command.add("true");
        return ForeignersTest.canRun(test, command.toArray(String[]::new));
    }

    private static List<String> options(String... settings) {
        // Processes of other PID namespaces would share the file of performance data, by their number.
        List<String> options = new ArrayList<>(List.of("--enable-native-access=ALL-UNNAMED", "-XX:-UsePerfData"));
        for (String setting : settings) {
            options.add("-D" + setting);
        }
        return options;
    }

    private String inDirectory() {
        return "org.rdmasockets.shared.directory=" + directory;
    }

    private static String users(int... users) {
        List<String> texts = new ArrayList<>();
        for (int user : users) {
            texts.add(Integer.toString(user));
        }
        return "org.rdmasockets.shared.users=" + String.join(",", texts);
    }

    /** Starts a server, and gives its port. */
    private String serve(List<String> prefix, List<String> options, String kind, String address) throws Exception {
        Process server = ChildJvm.start(prefix, options, SharingMain.class, kind, address);
        started.add(server);
        said = server.inputReader();
        orders = new PrintStream(server.getOutputStream(), true, StandardCharsets.UTF_8);
        return said.readLine();
    }

    private int descriptors() throws Exception {
        orders.println();
        return Integer.parseInt(said.readLine());
    }

    private static String connect(List<String> prefix, List<String> options, String address, String port)
            throws Exception {
        return ChildJvm.run(prefix, options, SharingMain.class, "connect", address, port, "1").strip();
    }

    private static void assertContains(String text, String part) {
        assertTrue(text.contains(part), text);
    }

    @Test
    void twoUsersShareMemoryIfBothNameTheOther() throws Exception {
        if (!canRun("twoUsersShareMemoryIfBothNameTheOther", as(SERVER, SERVER))) {
            return;
        }
        String port = serve(as(SERVER, SERVER), options(users(CLIENT)), "serve", LOOPBACK);
        assertEquals("echoed 1 over sharedmemory from 127.0.0.1",
                connect(as(CLIENT, CLIENT), options(users(SERVER)), LOOPBACK, port));
        String untold = connect(as(CLIENT, CLIENT), options(), LOOPBACK, port);
        assertContains(untold, "the listener is user 65534's, this is user 64341");
        assertContains(untold, "-Dorg.rdmasockets.shared.users=65534 here, -Dorg.rdmasockets.shared.users=64341 there");
        String stranger = connect(as(STRANGER, STRANGER), options(users(SERVER)), LOOPBACK, port);
        assertContains(stranger, "the listener's process, of user 65534, shares no memory with this one");
        assertContains(stranger, "-Dorg.rdmasockets.shared.users=64342 there");
        String warning = said.readLine();
        assertContains(warning, "of user 64342 wanted to share memory with this one, of user 65534, and was refused");
        assertContains(warning, "-Dorg.rdmasockets.shared.users=64342 here");
    }

    @Test
    void aListenerThatPermitsNoneIsNamed() throws Exception {
        if (!canRun("aListenerThatPermitsNoneIsNamed", as(SERVER, SERVER))) {
            return;
        }
        String port = serve(as(SERVER, SERVER), options(), "serve", LOOPBACK);
        String told = connect(as(CLIENT, CLIENT), options(users(SERVER)), LOOPBACK, port);
        assertContains(told, "the listener is user 65534's, this is user 64341");
        assertContains(told, "-Dorg.rdmasockets.shared.users=64341 there");
    }

    @Test
    void aGroupIsPermittedByItsNumber() throws Exception {
        if (!canRun("aGroupIsPermittedByItsNumber", as(SERVER, SERVER))) {
            return;
        }
        int group = 64330;
        String port = serve(as(SERVER, group), options("org.rdmasockets.shared.groups=64331," + group), "serve",
                LOOPBACK);
        List<String> permitted = options("org.rdmasockets.shared.groups=" + group);
        assertEquals("echoed 1 over sharedmemory from 127.0.0.1",
                connect(as(CLIENT, group), permitted, LOOPBACK, port));
        assertEquals("echoed 1 over sharedmemory from 127.0.0.1", connect(List.of("setpriv", "--reuid=" + CLIENT,
                "--regid=" + CLIENT, "--groups=" + group), permitted, LOOPBACK, port));
        assertContains(connect(as(STRANGER, STRANGER), permitted, LOOPBACK, port), "shares no memory with this one");
    }

    /** Like two containers of a pod: one network, nothing else in common. One link carries all connections. */
    @Test
    void containersOfAPodShareMemoryInADirectoryThatBothMount() throws Exception {
        if (!canRun("containersOfAPodShareMemoryInADirectoryThatBothMount", container())) {
            return;
        }
        String port = serve(container(), options(inDirectory()), "serve", LOOPBACK);
        int before = descriptors();
        Process client = ChildJvm.start(container(), options(inDirectory()), SharingMain.class, "connect", LOOPBACK,
                port, "50");
        started.add(client);
        assertEquals("echoed 50 over sharedmemory from 127.0.0.1", client.inputReader().readLine());
        int more = descriptors() - before;
        if (ForeignersTest.hasProcessInodes()) {
            assertTrue(more < 25, more + " descriptors more for 50 connections");
        }
        String untold = connect(container(), options(), LOOPBACK, port);
        assertContains(untold, "Connection refused");
        assertContains(untold, "one in another container does if both mount one directory, and name it: "
                + "-Dorg.rdmasockets.shared.directory=PATH");
    }

    @Test
    void aUserNamespaceIsAnotherUser() throws Exception {
        List<String> inNamespace = new ArrayList<>(as(CLIENT, CLIENT));
        inNamespace.addAll(List.of("unshare", "--user", "--map-root-user"));
        if (!canRun("aUserNamespaceIsAnotherUser", inNamespace)) {
            return;
        }
        String port = serve(List.of(), options(inDirectory(), users(CLIENT)), "serve", LOOPBACK);
        assertEquals("echoed 1 over sharedmemory from 127.0.0.1",
                connect(inNamespace, options(inDirectory(), users(65534)), LOOPBACK, port));
    }

    @Test
    void networksMeetByAddressAndNeverByLoopback() throws Exception {
        if (!canRun("networksMeetByAddressAndNeverByLoopback", containerAt("10.9.0.5"))) {
            return;
        }
        for (String bound : List.of("0.0.0.0", "10.9.0.5")) {
            String port = serve(containerAt("10.9.0.5"), options(inDirectory()), "serve", bound);
            for (String wish : List.of("auto=false", "auto=true")) {
                assertEquals("echoed 1 over sharedmemory from 10.9.0.6",
                        connect(containerAt("10.9.0.6"), options(inDirectory(), wish), "10.9.0.5", port));
            }
            assertContains(connect(containerAt("10.9.0.6"), options(inDirectory()), LOOPBACK, port),
                    "Connection refused");
            assertContains(connect(containerAt("10.9.0.6"), options(inDirectory()), "10.9.0.7", port),
                    "NoRouteToHostException");
            assertContains(connect(containerAt("10.9.0.5"), options(inDirectory()), "10.9.0.5", port),
                    "Connection refused"); // its own address is another's as well
        }
    }

    @Test
    void aDirectoryWhereOthersCanTakeNamesAwayIsNotUsed() throws Exception {
        Files.setAttribute(directory, "unix:mode", 0777);
        assertContains(serve(List.of(), options(inDirectory()), "serve", LOOPBACK), "chmod +t " + directory);
    }

    @Test
    void networksMeetByAddressesOfVersionSix() throws Exception {
        if (!canRun("networksMeetByAddressesOfVersionSix", containerAt("fd00::5"))) {
            return;
        }
        String port = serve(containerAt("fd00::5"), options(inDirectory()), "serve", "::");
        assertEquals("echoed 1 over sharedmemory from fd00:0:0:0:0:0:0:6",
                connect(containerAt("fd00::6"), options(inDirectory()), "fd00::5", port));
    }

    @Test
    void datagramsGoBetweenNetworks() throws Exception {
        if (!canRun("datagramsGoBetweenNetworks", containerAt("10.9.0.5"))) {
            return;
        }
        String port = serve(containerAt("10.9.0.5"), options(inDirectory()), "datagrams", "0.0.0.0");
        assertEquals("echoed a datagram over sharedmemory", ChildJvm.run(containerAt("10.9.0.6"),
                options(inDirectory()), SharingMain.class, "send", "10.9.0.5", port).strip());
    }
}
