package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.Errno;

/** The remedies that a person is told for an error. */
class IbverbsRemediesTest {
    /** async-rdma's users meet an ENOMEM that does not say that memory is there, and may only not be locked. */
    @Test
    void aRegistrationWithoutMemoryNamesTheLimitOfLockedMemory() throws Exception {
        String soft = Files.readAllLines(Path.of("/proc/self/limits")).stream()
                .filter(line -> line.startsWith("Max locked memory")).findFirst().orElseThrow()
                .substring("Max locked memory".length()).strip().split("\\s+")[0];
        String limit = soft.equals("unlimited") ? soft : Long.parseLong(soft) / 1024 + " KiB";
        for (String call : new String[] {"ibv_reg_mr", "ibv_reg_mr_iova2"}) {
            String remedy = IbverbsRemedies.of(call, Errno.ENOMEM.number());
            assertTrue(remedy.startsWith("the memory that may be locked is limited to " + limit + ":"), remedy);
            assertTrue(remedy.contains("ulimit -l") && remedy.contains("LimitMEMLOCK=")
                    && remedy.contains("/etc/security/limits.conf"), remedy);
        }
    }

    @Test
    void otherCallsWithoutMemoryAreNotAboutLocking() {
        for (String call : new String[] {"ibv_create_qp", "ibv_create_cq", "ibv_alloc_pd", "ibv_create_srq"}) {
            String remedy = IbverbsRemedies.of(call, Errno.ENOMEM.number());
            assertFalse(remedy.isEmpty() || remedy.contains("lock"), remedy);
        }
    }

    /** Loopback addresses belong to no device; on soft-iWARP a listen there fails, and says this. */
    @Test
    void anAddressWithoutADeviceIsNamedAsThat() {
        for (String call : new String[] {"rdma_bind_addr", "rdma_resolve_addr", "rdma_listen"}) {
            String remedy = IbverbsRemedies.of(call, Errno.ENODEV.number());
            assertTrue(remedy.startsWith("no RDMA device for this address"), remedy);
        }
        assertEquals("the device was removed", IbverbsRemedies.of("ibv_poll_cq", Errno.ENODEV.number()));
    }
}
