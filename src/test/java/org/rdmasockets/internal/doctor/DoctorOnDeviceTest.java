package org.rdmasockets.internal.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmasockets.TestDevice;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** The doctor on a machine with an RDMA device: as it should be, and with each thing missing that a user may miss. */
@Tag("device")
@Tag("further-jvms")
class DoctorOnDeviceTest {
    private static final Path FILES = Path.of("/dev/infiniband");
    private static final List<String> GRANTED = List.of("--enable-native-access=ALL-UNNAMED", "-XX:-UsePerfData");
    private static final List<String> USER = List.of("prlimit", "--memlock=65536:65536", "setpriv", "--reuid=65534",
            "--regid=65534", "--clear-groups");
    private static final List<String> WITHOUT_FILES = List.of("unshare", "--mount", "--pid", "--kill-child", "bash",
            "-c", "mount -t tmpfs none " + FILES + " && mount -t proc none /proc && exec \"$@\"", "container");

    private static String doctor(int status, String... arguments) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        assertEquals(status, Doctor.run(List.of(arguments), new PrintStream(bytes, true, StandardCharsets.UTF_8), null),
                bytes::toString);
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static void assertSays(String output, String line) {
        assertTrue(output.lines().anyMatch(one -> one.matches(line)), () -> line + " in\n" + output);
    }

    @Test
    void aDeviceThatCanBeUsedIsTold() {
        String port = TestDevice.name() + " port 1: (ROCE|IWARP) over \\w+, ACTIVE, [1-9]\\d* GIDs?";
        String output = doctor(0, "doctor");
        assertSays(output, "ok       modules: ib_uverbs and rdma_ucm are loaded");
        assertSays(output, "ok       /dev/infiniband: this user may open rdma_cm, .*uverbs\\d.*");
        assertSays(output, "ok       " + port + ", MTU \\d+ bytes");
        assertSays(output, "ok       locked memory: .*");
        assertSays(doctor(0, "devices"), "ok       " + port + " \\(0 [0-9a-f:]{39}.*\\), MTU \\d+ bytes");
    }

    @Test
    void theRoundTripOverTheDeviceIsMeasured() throws Exception {
        assumeFalse(TestDevice.name().startsWith("siw"), "device limit: a listener of soft-iWARP may be lost when TCP "
                + "connects to its port, and the kernel fails as it is closed");
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        EchoServer echo = new EchoServer(0, new PrintStream(said, true, StandardCharsets.UTF_8));
        Thread.ofPlatform().daemon().start(() -> {
            try {
                echo.serve();
            } catch (IOException e) {
                e.printStackTrace();
            }
        });
        Await.until("the echo server", () -> said.toString().contains("until"));
        String port = said.toString().split(" ")[3];
        String address = TestDevice.address().getHostAddress();
        String times = "connects in \\d+ us, 64 bytes go there and back in [\\d.]+ us at best, .* us for 99 of 100";
        assertSays(doctor(0, "ping", address, port), "ibverbs       leads there, " + times);
        assertSays(doctor(0, "doctor", address + ":" + port), "ibverbs       leads there, connects in \\d+ us");
    }

    /** First the files are closed to it; then only the limit stands in its way. */
    @Test
    void anotherUserIsToldOfFilesAndOfLockedMemory() throws Exception {
        set("rw-------");
        try {
            String output = ChildJvm.run(USER, GRANTED, DoctorMain.class, "doctor");
            assertSays(output, "problem  /dev/infiniband: this user may not open rdma_cm, uverbs.*: a rule of udev "
                    + "that gives them to a group of the user.*");
            assertSays(output, "problem  ibverbs: This user may not use RDMA: /dev/infiniband/.* must be readable and "
                    + "writable; .*");
            set("rw-rw-rw-");
            output = ChildJvm.run(USER, GRANTED, DoctorMain.class, "doctor");
            assertSays(output, "ok       /dev/infiniband: this user may open .*");
            assertSays(output, "ok       " + TestDevice.name() + " port 1: .*");
            assertSays(output, "problem  locked memory: at most 64 KiB \\(ulimit -l\\), but RDMA pins its buffers: "
                    + "ulimit -l unlimited; for good in /etc/security/limits.d/, .*");
        } finally {
            set("rw-rw-rw-");
        }
    }

    private static void set(String permissions) throws Exception {
        try (Stream<Path> files = Files.list(FILES)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
            }
        }
    }

    @Test
    void aContainerWithoutItsFilesIsToldHowToGetThem() throws Exception {
        String output = ChildJvm.run(WITHOUT_FILES, GRANTED, DoctorMain.class, "doctor");
        assertSays(output, "problem  /dev/infiniband: is not there: modprobe -a ib_uverbs rdma_ucm; a container has "
                + "to be given it: docker run --device /dev/infiniband");
        assertSays(output, "problem  ibverbs: The kernel's user access to RDMA is not loaded .*in a container, pass "
                + "/dev/infiniband in");
        assertSays(output, "ok       modules: ib_uverbs and rdma_ucm are loaded");
        assertSays(output, "note     container: .* docker run --device /dev/infiniband .*");
    }
}
