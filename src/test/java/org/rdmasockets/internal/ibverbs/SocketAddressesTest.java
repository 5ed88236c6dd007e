package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.verbs.VerbsException;

/** Addresses of C that need no device. */
@Timeout(60)
class SocketAddressesTest {
    private static final int CALLS = 200;

    @BeforeEach
    void needLibraries() {
        assumeTrue(NativeLibraries.problem().isEmpty());
    }

    @Test
    void aLoopbackAddressIsReachedFromItselfWithoutAPacketOrAPort() throws Exception {
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        assertEquals(loopback, SocketAddresses.sourceOf(new InetSocketAddress(loopback, 0)));
        assertEquals(loopback, SocketAddresses.sourceOf(new InetSocketAddress("127.1.2.3", 9)));
    }

    @Test
    void noDescriptorStaysOpenWhereTheSystemRefuses() {
        InetSocketAddress broadcast = new InetSocketAddress(InetAddress.ofLiteral("255.255.255.255"), 9);
        int before = descriptors();
        for (int i = 0; i < CALLS; i++) {
            VerbsException refusal = assertThrows(VerbsException.class, () -> SocketAddresses.sourceOf(broadcast));
            assertEquals("connect", refusal.call());
        }
        assertTrue(descriptors() < before + CALLS / 2, () -> before + " descriptors, then " + descriptors());
    }

    private static int descriptors() {
        return new File("/proc/self/fd").list().length;
    }
}
