package org.rdmasockets.fault;

import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.ffi.PacketSocket;

/** Processes that share memory are killed, or hostile: the short form of {@code src/test/sharedmemory}. */
@Isolated
class NeighbourFaultTest {
    @BeforeAll
    static void needSharedMemory() {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("NeighbourFaultTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
    }

    @Test
    void killedProcessesAreNoticedAndLeaveNothing() throws Exception {
        Kills.run(3, TestBed.PATIENCE_MILLIS);
    }

    @Test
    void aHostileProcessHarmsNobodyElse() throws Exception {
        Hostility.run(2);
    }

    @Test
    void anotherUserHarmsNobody() throws Exception {
        if (PacketSocket.ownUser() != 0) {
            System.out.println("anotherUserHarmsNobody is not tried: only root can become another user");
            return;
        }
        Strangers.run(4, 0);
    }
}
