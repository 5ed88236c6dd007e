package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

/** The state of a peer's ring of any size, as this end knows it. */
class PeerRingTest {
    private static final long ADDRESS = 0x7000_0000_0000L;

    private static PeerRing ring(long capacity, int credits) {
        return new PeerRing(new ConnectData(false, true, credits, 0x1000, 1, 2, ADDRESS, 1, 1024, 0,
                FlowKind.READ_RING, capacity));
    }

    @Test
    void aRingMayBeLargerThanWhatThirtyTwoBitsCount() {
        long capacity = (1L << 34) + 5;
        PeerRing ring = ring(capacity, 65534);
        long sent = 0;
        while (sent + ring.room() < capacity) {
            int piece = ring.room();
            assertEquals(ADDRESS + sent, ring.nextAddress());
            ring.write(piece);
            sent += piece;
        }
        ring.write(ring.room());
        assertEquals(0, ring.room());
        assertNull(ring.advance((1L << 33) + 7, 10));
        assertEquals(ADDRESS, ring.nextAddress());
        assertEquals(ImmediateData.MAX_ARGUMENT, ring.room());
        assertNull(ring.advance(capacity, 33));
    }

    @Test
    void aWriteEndsWhereTheRingDoes() {
        PeerRing ring = ring(100, 10);
        ring.write(70);
        assertEquals(30, ring.room());
        assertNull(ring.advance(50, 1));
        assertEquals(30, ring.room());
        ring.write(30);
        assertEquals(50, ring.room());
        assertEquals(ADDRESS, ring.nextAddress());
    }

    /** Room given back out of turn shows only when all before it is given back, too: a position tells no more. */
    @Test
    void nothingIsWrittenOverThatWasNotRead() {
        PeerRing ring = ring(100, 10);
        ring.write(100);
        assertNull(ring.advance(1, 1));
        assertEquals(1, ring.room());
        assertNotNull(ring.advance(0, 1));
        assertNotNull(ring.advance(101, 1));
        assertNotNull(ring.advance(1, 2));
        assertEquals(1, ring.room());
    }

    @Test
    void messagesAreCountedApartFromBytes() {
        PeerRing ring = ring(1000, 2);
        ring.write(1);
        ring.write(1);
        assertEquals(0, ring.room());
        assertNull(ring.advance(0, 1));
        assertEquals(998, ring.room());
    }
}
