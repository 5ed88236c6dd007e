package org.rdmasockets.internal.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** The doctor on a machine that has no RDMA, as a rule: as another user with little locked memory, in a container. */
@Timeout(180)
class DoctorElsewhereTest {
    private static final int USER = 64343;
    private static final List<String> AS_USER = List.of("setpriv", "--reuid=" + USER, "--regid=" + USER,
            "--clear-groups");
    private static final List<String> CONTAINER = List.of("unshare", "--mount", "--pid", "--ipc", "--kill-child", "sh",
            "-c", "mount -t tmpfs none /dev/shm && mount -t proc none /proc && exec \"$@\"", "container");

    @AfterEach
    void removeItsDirectory() throws IOException {
        for (File left : new File("/dev/shm").listFiles((in, name) -> name.startsWith("org.rdmasockets-" + USER))) {
            try (Stream<Path> files = Files.walk(left.toPath())) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
    }

    /** Tries what a test needs; if it fails, prints that the test is not run, and why. */
    static boolean canRun(String test, List<String> prefix) throws Exception {
        List<String> command = new ArrayList<>(prefix);
        command.add("true");
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

    private static List<String> doctor(List<String> prefix, String... settings) throws Exception {
        List<String> options = new ArrayList<>(List.of("--enable-native-access=ALL-UNNAMED", "-XX:-UsePerfData"));
        options.addAll(List.of(settings));
        return ChildJvm.run(prefix, options, DoctorMain.class, "doctor").lines().toList();
    }

    /** One line for each subject, and as a whole an output that an operator can go by. */
    private static void assertSays(List<String> output, String line) {
        String start = line.substring(0, line.indexOf(": ") + 1);
        assertEquals(1, output.stream().filter(one -> one.startsWith(start)).count(), () -> start + " in " + output);
        assertTrue(output.stream().anyMatch(one -> one.startsWith(line)), () -> line + " in " + output);
    }

    private static void assertHasNoDevice(List<String> output) {
        if (Files.exists(Path.of("/sys/class/infiniband"))) {
            System.out.println("this machine may have RDMA: the findings of a machine without are not looked for");
            return;
        }
        assertSays(output, "problem  ibverbs: This machine has no RDMA device: load its driver; without RDMA hardware, "
                + "soft-RoCE does: modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0");
        assertSays(output, "ok       /dev/infiniband: is not there, and no RDMA device needs it");
    }

    @Test
    void anotherUserWithLittleLockedMemory() throws Exception {
        List<String> prefix = new ArrayList<>(List.of("prlimit", "--memlock=65536:65536", "--nofile=1024:1024"));
        if (!canRun("anotherUserWithLittleLockedMemory", AS_USER)) {
            return;
        }
        prefix.addAll(AS_USER);
        List<String> output = doctor(prefix, "-Dorg.rdmasockets.shared.users=0,1001");
        assertSays(output, "ok       native access: granted here");
        assertSays(output, "ok       memfd: memory without a file");
        assertSays(output, "ok       sharedmemory: processes on this host can share memory");
        assertSays(output, "ok       directory: /dev/shm/org.rdmasockets-" + USER + "-");
        assertTrue(output.stream().anyMatch(line -> line.endsWith("has the names of servers; this process shares "
                + "memory with user " + USER + ", users 0, 1001")), output::toString);
        assertSays(output, "note     locked memory: at most 64 KiB (ulimit -l), but RDMA pins its buffers: "
                + "ulimit -l unlimited; for good in /etc/security/limits.d/, for a service LimitMEMLOCK=infinity, for "
                + "a container --ulimit memlock=-1");
        assertSays(output, "note     open files: at most 1024, enough for about 256 connections: ulimit -n 65536");
        assertHasNoDevice(output);
        assertEquals(!isOnHost(), output.stream().anyMatch(line -> line.contains(" container: ")), output::toString);
    }

    private static boolean isOnHost() {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString().equals("pid:[4026531836]");
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void aContainerWithItsOwnMemory() throws Exception {
        if (!canRun("aContainerWithItsOwnMemory", CONTAINER)) {
            return;
        }
        List<String> prefix = new ArrayList<>(List.of("prlimit", "--memlock=65536:65536"));
        prefix.addAll(CONTAINER);
        List<String> output = doctor(prefix);
        assertSays(output, "note     container: this process is in one, and shares memory only with those that see the "
                + "same directory: mount one into both and set -Dorg.rdmasockets.shared.directory=PATH; docker run "
                + "--device /dev/infiniband --ulimit memlock=-1 gives it the host's RDMA devices");
        assertSays(output, "ok       directory: /dev/shm/org.rdmasockets-0-");
        assertSays(output, "ok       locked memory: at most 64 KiB (ulimit -l), which does not bind this user");
        assertHasNoDevice(output);
        Path directory = Files.createTempDirectory("dr");
        try {
            Files.setAttribute(directory, "unix:mode", 01777);
            output = doctor(CONTAINER, "-Dorg.rdmasockets.shared.directory=" + directory);
            assertSays(output, "ok       container: this process is in one, and shares memory only with those that "
                    + "mount the same directory; docker run --device");
            assertSays(output, "ok       directory: " + directory + "/org.rdmasockets-0-");
        } finally {
            try (Stream<Path> files = Files.walk(directory)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
    }
}
