package org.rdmasockets.internal.sharedmemory.link;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.VerbsException;

/** Memory of the connections of one link: what a peer finds of it, and what it costs. */
@Isolated
class SlabsTest {
    private static final Set<AccessFlag> WRITABLE = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    private static final int BYTES = 28 << 10;

    private Node.Pair pair;
    private Link near;
    private Link far;

    @BeforeEach
    void connect() throws Exception {
        pair = Node.Pair.connect();
        near = pair.nearEnd().link;
        far = pair.farEnd().link;
    }

    @AfterEach
    void disconnect() {
        pair.close();
    }

    private Slabs.Slice publish(int key) throws VerbsException {
        Slabs.Slice slice = near.slabs().allocate(BYTES);
        slice.publish(key, WRITABLE, 5);
        return slice;
    }

    @Test
    void aSliceIsFoundByItsKeyAtItsAddressesOnly() throws Exception {
        Slabs.Slice one = publish(256);
        Slabs.Slice two = publish(257);
        long address = one.segment().address();
        PeerMemory seen = far.peerMemory(256, address + BYTES - 1);
        assertNotNull(seen);
        assertEquals(5, seen.tag());
        assertTrue(seen.allows(address, BYTES, AccessFlag.REMOTE_WRITE));
        assertFalse(seen.allows(address, BYTES + 1, AccessFlag.REMOTE_WRITE), "that is the next slice");
        assertFalse(seen.allows(address, 1, AccessFlag.REMOTE_READ));
        assertNull(far.peerMemory(256, two.segment().address()), "the key of one, the address of the other");
        assertTrue(seen.tryEnter());
        seen.segment().set(JAVA_BYTE, 3, (byte) 7);
        seen.leave();
        assertEquals(7, one.segment().get(JAVA_BYTE, 3));
    }

    @Test
    void aClosedSliceLetsNobodyInAndIsGivenToNobodyWhileThePeerIsInside() throws Exception {
        Slabs.Slice one = publish(256);
        long address = one.segment().address();
        PeerMemory seen = far.peerMemory(256, address);
        assertTrue(seen.tryEnter());
        assertTrue(((PeerSlice) seen).isOpen());
        one.close();
        one.close();
        assertFalse(((PeerSlice) seen).isOpen(), "who has stayed inside learns that it is closed");
        assertFalse(seen.tryEnter(), "it is closed");
        assertNull(far.peerMemory(256, address));
        Slabs.Slice two = publish(257);
        assertNotEquals(address, two.segment().address(), "the peer still writes there");
        seen.segment().fill((byte) 1);
        seen.leave();
        Slabs.Slice three = publish(256);
        assertEquals(address, three.segment().address(), "nobody is there any more");
        assertFalse(seen.tryEnter(), "the key of the next one is the same, the slice is not");
        assertEquals(-1, three.segment().mismatch(near.slabs().allocate(BYTES).segment()), "it is zero");
    }

    /** As with no descriptor left; the second has the key of the first. */
    @Test
    void aSlabThatThePeerHadNoRoomForMakesWayForAnother() throws Exception {
        for (long bytes : new long[] {BYTES, Slabs.MOST_SLICE_BYTES}) {
            Slabs.Slice lost = loseSlab(bytes);
            near.peerRegion(1); // reads what the peer has said
            Slabs.Slice next = near.slabs().allocate(bytes);
            next.publish(257, WRITABLE, 5);
            PeerMemory seen = far.peerMemory(257, next.segment().address());
            assertNotNull(seen, "it is cut from the slab that the peer could not take");
            assertTrue(seen.tryEnter());
            seen.leave();
            lost.close();
            next.close();
            assertNull(far.peerRegion(1), "the lost slab has not gone");
        }
        assertTrue(near.isOpen());
        assertTrue(far.isOpen());
    }

    private Slabs.Slice loseSlab(long bytes) throws VerbsException {
        int taken = 0;
        while (PeerRegion.reserve(0)) {
            taken++;
        }
        try {
            Slabs.Slice lost = near.slabs().allocate(bytes);
            lost.publish(256, WRITABLE, 5);
            assertNull(far.peerMemory(256, lost.segment().address()));
            return lost;
        } finally {
            while (taken > 0) {
                PeerRegion.release(0);
                taken--;
            }
        }
    }

    @Test
    void manySlicesTakeAFewMappingsAndDescriptors() throws Exception {
        long mappings = count("maps");
        long descriptors = count("fd");
        List<Slabs.Slice> slices = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            slices.add(publish(256 + i));
            assertNotNull(far.peerMemory(256 + i, slices.get(i).segment().address()));
        }
        assertTrue(count("maps") - mappings < 50, "mappings");
        assertTrue(count("fd") - descriptors < 50, "descriptors");
        slices.forEach(Slabs.Slice::close);
        for (int i = 0; i < 1000; i++) {
            assertEquals(0, publish(256 + i).segment().get(JAVA_BYTE, 0));
        }
        assertTrue(count("maps") - mappings < 50, "mappings, when all were used again");
    }

    @Test
    void anErrorAtOneSlabOfADeadLinkDoesNotKeepTheOthers() throws Exception {
        Slabs slabs = new Slabs(null);
        Slabs.Slice first = slabs.allocate(Slabs.MOST_SLICE_BYTES);
        Slabs.Slice second = slabs.allocate(Slabs.MOST_SLICE_BYTES);
        Slabs.Slice third = slabs.allocate(Slabs.MOST_SLICE_BYTES);
        assertSame(first.slab, second.slab);
        assertNotSame(first.slab, third.slab);
        third.close();
        Field busy = Slabs.Slab.class.getDeclaredField("busy");
        busy.setAccessible(true);
        Object whole = busy.get(first.slab);
        busy.set(first.slab, new AbstractList<Slabs.Slice>() {
            @Override
            public Slabs.Slice get(int index) {
                throw new IndexOutOfBoundsException(index);
            }

            @Override
            public int size() {
                throw new OutOfMemoryError("for a test");
            }
        });
        assertThrows(OutOfMemoryError.class, slabs::close);
        assertTrue(region(third).isClosed(), "the other slab");
        assertFalse(region(first).isClosed(), "it has slices");
        busy.set(first.slab, whole);
        first.close();
        second.close();
        assertTrue(region(first).isClosed());
    }

    private static SharedRegion region(Slabs.Slice slice) throws ReflectiveOperationException {
        Field region = Slabs.Slab.class.getDeclaredField("region");
        region.setAccessible(true);
        return (SharedRegion) region.get(slice.slab);
    }

    private static long count(String what) throws Exception {
        Path path = Path.of("/proc/self", what);
        try (Stream<?> all = Files.isDirectory(path) ? Files.list(path) : Files.lines(path)) {
            return all.count();
        }
    }
}
