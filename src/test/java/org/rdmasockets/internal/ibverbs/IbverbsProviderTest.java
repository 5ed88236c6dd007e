package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** The provider's message where it cannot work: a reason with a remedy, never an error of the linker. */
@Timeout(300)
class IbverbsProviderTest {
    private static final Path KERNEL_DEVICES = Path.of("/sys/class/infiniband");

    private final VerbsProvider provider = Providers.ibverbs();

    @Test
    void isFoundByItsName() {
        assertSame(provider, Providers.named("ibverbs"));
        assertThrows(IllegalArgumentException.class, () -> Providers.named("none"));
    }

    @Test
    void aProcessorWithOtherLayoutsIsRefused() {
        assertTrue(IbverbsAvailability.processorProblem("riscv64").orElseThrow().contains("not on riscv64"));
        assertEquals(Optional.empty(), IbverbsAvailability.processorProblem("amd64"));
        assertEquals(Optional.empty(), IbverbsAvailability.processorProblem("aarch64"));
    }

    @Test
    void withoutDevicesTheReasonHasARemedy() {
        assumeFalse(Files.exists(KERNEL_DEVICES), "this machine has RDMA devices");
        String reason = provider.unavailability().orElseThrow();
        assertTrue(reason.contains("apt install libibverbs1") || reason.contains("modprobe rdma_rxe"), reason);
    }

    @Test
    void withoutDevicesEveryCallIsRefusedWithAVerbsException() {
        assumeFalse(Files.exists(KERNEL_DEVICES), "this machine has RDMA devices");
        for (Executable call : List.<Executable>of(() -> provider.open("rxe0"), provider::devices,
                provider::createConnectionManager)) {
            VerbsException e = assertThrows(VerbsException.class, call);
            assertTrue(e.getMessage().contains(provider.unavailability().orElseThrow()), e::getMessage);
        }
    }

    @Test
    void deniedNativeAccessIsAReasonThatNamesTheFlag() throws Exception {
        ChildProcess.Result result = ChildProcess.java(List.of(), List.of("--illegal-native-access=deny"),
                AvailabilityMain.class);
        assertEquals(0, result.status(), result.output());
        assertTrue(result.output().contains("--enable-native-access=ALL-UNNAMED"), result.output());
    }
}
