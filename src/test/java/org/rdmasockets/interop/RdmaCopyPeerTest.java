package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The C program can be compiled and started, also where there is no device for it. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RdmaCopyPeerTest {
    @TempDir
    private Path directory;

    @Test
    void compilesWithoutAWarningAndHasUsage() throws Exception {
        try (Program peer = Program.start(RdmaCopyPeer.compileOrSkip(directory))) {
            assertEquals(2, peer.awaitEnd(), peer::toString);
            peer.awaitLine("usage: rdma_copy server ADDRESS PORT");
        }
    }
}
