package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** Connections share addresses, as far as an application cannot see it. */
class LocalAddressesTest {
    private static InetSocketAddress fresh(int port) {
        return new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port);
    }

    @Test
    void aNameThatSomebodyLookedUpDoesNotShowInLaterOnes() {
        InetSocketAddress first = LocalAddresses.recent(fresh(7));
        assertSame(first, LocalAddresses.recent(fresh(7)));
        assertSame(first.getAddress(), LocalAddresses.sharing(fresh(8), first).getAddress());
        first.getHostName();
        assertEquals("/127.0.0.1:7", LocalAddresses.recent(fresh(7)).toString());
        assertEquals("/127.0.0.1:8", LocalAddresses.sharing(fresh(8), first).toString());
    }
}
