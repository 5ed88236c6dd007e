package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.VerbsException;

/** The restrictions of an ordinary user. Needs root, because it becomes one. */
@Tag("device")
@Tag("further-jvms")
@Timeout(300)
class IbverbsRestrictionsTest {
    private static final String DEVICE = System.getProperty("org.rdmasockets.test.device", "rxe0");
    private static final List<String> NATIVE_ACCESS = List.of("--enable-native-access=ALL-UNNAMED");

    /** The command as user 65534, with at most so much locked memory. */
    private static List<String> asNobody(int lockedKilobytes) {
        return List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c",
                "ulimit -l " + lockedKilobytes + " && exec \"$@\"", "bash");
    }

    @Test
    void aMemlockLimitThatIsTooSmallIsNamedWithItsRemedy() throws Exception {
        ChildProcess.Result result = ChildProcess.java(asNobody(64), NATIVE_ACCESS, RegisterMain.class, DEVICE,
                "1048576");
        String output = result.output();
        assertEquals(0, result.status(), output);
        assertTrue(output.contains("ibv_reg_mr failed: ENOMEM (12): lengthBytes=1048576"), output);
        assertTrue(output.contains("limited to 64 KiB") && output.contains("ulimit -l"), output);
        assertTrue(output.contains("registered 4096"), () -> "the process goes on: " + output);
    }

    @Test
    void missingPermissionIsNamedWithItsRemedy() throws Exception {
        Path file = Path.of("/dev/infiniband/rdma_cm");
        Set<PosixFilePermission> before = Files.getPosixFilePermissions(file);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        try {
            ChildProcess.Result result = ChildProcess.java(asNobody(64), NATIVE_ACCESS, AvailabilityMain.class);
            String output = result.output();
            assertEquals(0, result.status(), output);
            String remedy = "This user may not use RDMA: " + file + " must be readable and writable; chmod 666";
            assertTrue(output.startsWith(remedy), output);
            assertTrue(output.lines().anyMatch(line -> line.startsWith("rdma_create_event_channel failed")
                    && line.contains(remedy)), output);
        } finally {
            Files.setPosixFilePermissions(file, before);
        }
    }

    @Test
    @SuppressWarnings("restricted")
    void memoryThatIsNotMappedIsRefused() throws VerbsException {
        MemorySegment unmapped = MemorySegment.ofAddress(4096).reinterpret(4096);
        try (ProtectionDomain domain = Providers.ibverbs().open(DEVICE).allocateProtectionDomain()) {
            domain.register(unmapped, Set.of(AccessFlag.LOCAL_WRITE)).close();
            throw new AssertionError("page 1 is mapped");
        } catch (VerbsException e) {
            assertEquals(Errno.EFAULT, e.errno(), e.getMessage());
        }
    }
}
