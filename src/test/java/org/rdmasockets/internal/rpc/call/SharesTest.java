package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** The share of one address, and the newcomer that leaves where there is no room. */
class SharesTest {
    private static Object address(String literal) {
        return Shares.address(new InetSocketAddress(InetAddress.ofLiteral(literal), 7));
    }

    @Test
    void aNetworkOfIpv6IsOneAddressAndSoIsEachOfIpv4() {
        assertEquals(address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff::2"));
        assertNotEquals(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assertEquals(address("192.0.2.1"), address("192.0.2.1"));
        assertNotEquals(address("192.0.2.1"), address("192.0.2.2"));
        assertEquals(address("127.0.0.1"), address("127.1.2.3"), "a program of this host may have any of them");
        assertEquals(address("127.0.0.1"), address("::1"));
        assertNotEquals(address("127.0.0.1"), address("192.0.2.1"));
    }

    @Test
    void threeQuartersAreRoundedUp() {
        int[] shares = {1, 2, 3, 3, 4, 5, 6, 6, 7, 8};
        for (int all = 1; all <= shares.length; all++) {
            assertEquals(shares[all - 1], Shares.of(all), all + " in all");
        }
    }

    @Test
    void theOldestNewcomerOfAnAddressLeavesForOneOfItAndTheOldestOfAllIfAllIsTaken() {
        Shares<String> shares = new Shares<>(8, 4);
        shares.add("other", "b1");
        for (String one : new String[] {"a1", "a2"}) {
            assertNull(shares.excess("many"));
            shares.add("many", one);
        }
        assertNull(shares.excess("many"));
        Shares.AddressPart<String> many = shares.add("many", "a3");
        assertEquals("a1", shares.excess("many"), "its own, although another address has an older one");
        assertEquals("b1", shares.excess("third"), "the oldest of four");
        shares.known(many, "a1");
        assertNull(shares.excess("third"));
        assertNull(shares.excess("many"), "it has two newcomers");
    }

    @Test
    void anAddressHasItsShareAndItsCallsAreRemembered() {
        Shares<String> shares = new Shares<>(4, 4);
        Shares.AddressPart<String> part = null;
        for (String one : new String[] {"a1", "a2", "a3"}) {
            assertTrue(shares.hasRoom("many"));
            part = shares.add("many", one);
            shares.known(part, one);
        }
        assertFalse(shares.hasRoom("many"));
        assertNull(shares.excess("many"), "none of them is a newcomer");
        assertTrue(shares.hasRoom("other"));
        shares.add("other", "b1");
        assertNull(shares.excess("many"), "the place of another address's newcomer would not be its");
        assertFalse(shares.hasRoom("third"));
        part.calls.incrementAndGet();
        for (String one : new String[] {"a1", "a2", "a3"}) {
            shares.remove(part, one);
        }
        assertTrue(part.isEmpty());
        assertSame(part, shares.add("many", "a4"), "a call goes on, so that a new connection begins no new count");
        part.calls.decrementAndGet();
        shares.remove(part, "a4");
        assertNotSame(part, shares.add("many", "a5"));
    }
}
