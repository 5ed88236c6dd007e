package org.rdmasockets.internal.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** Why there is no shared memory, in sentences that a person can act on. */
class SharedMemoryAvailabilityTest {
    private static final List<String> GRANTED = List.of("--enable-native-access=ALL-UNNAMED");

    @Test
    void thisMachineHasIt() {
        assertEquals(Optional.empty(), SharedMemoryAvailability.problem());
    }

    @Test
    void otherSystemsAreNamed() {
        assertTrue(SharedMemoryAvailability.platformProblem("Windows 11",
                "amd64").orElseThrow().contains("not on Windows 11"));
        assertTrue(SharedMemoryAvailability.platformProblem("Linux", "riscv64").orElseThrow().contains("riscv64"));
        assertEquals(Optional.empty(), SharedMemoryAvailability.platformProblem("Linux", "aarch64"));
    }

    @Test
    void aKernelThatRefusesPagesAtTheFirstTouchIsNotUsed(@TempDir Path folder) throws IOException {
        Path policy = folder.resolve("overcommit_memory");
        assertEquals(Optional.empty(), SharedMemoryAvailability.commitProblem(policy), "hidden by a sandbox");
        Files.writeString(policy, "2\n");
        assertTrue(SharedMemoryAvailability.commitProblem(policy).orElseThrow()
                .contains("vm.overcommit_memory to 0 or 1"));
        Files.writeString(policy, "1\n");
        assertEquals(Optional.empty(), SharedMemoryAvailability.commitProblem(policy));
    }

    @Test
    void deniedNativeAccessIsNamedWithTheFlag() throws Exception {
        String output = ChildJvm.run(List.of(), List.of("--illegal-native-access=deny",
                "--enable-native-access=java.base"), AvailabilityMain.class);
        assertTrue(output.contains("start java with --enable-native-access=ALL-UNNAMED"), output);
    }

    @Test
    void tooFewDescriptorsAreNamedWithTheLimit() throws Exception {
        String output = ChildJvm.run(List.of(), GRANTED, AvailabilityMain.class, "exhaust");
        assertTrue(output.contains("memfd_create failed: EMFILE (24)") && output.contains("raise ulimit -n"), output);
        assertTrue(output.contains("afterwards: available"), output);
    }
}
