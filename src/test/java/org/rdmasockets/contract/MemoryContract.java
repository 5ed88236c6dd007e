package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.DmaBuffer;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;

/** Protection domains and memory regions. */
abstract class MemoryContract extends VerbsContract {
    private static final Set<AccessFlag> WRITABLE = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);

    private ProtectionDomain domain() throws VerbsException {
        return closing(device().allocateProtectionDomain());
    }

    private static MemorySegment memory(long bytes) {
        return Arena.ofAuto().allocate(bytes, 4096);
    }

    @Test
    void aRegionTellsWhatWasRegistered() throws VerbsException {
        MemorySegment memory = memory(10_000);
        MemoryRegion region = closing(domain().register(memory, WRITABLE));
        assertSame(memory, region.segment());
        assertEquals(memory.address(), region.address());
        assertEquals(10_000, region.lengthBytes());
        assertEquals(WRITABLE, region.access());
    }

    @Test
    void regionsOfTheSameMemoryHaveKeysOfTheirOwn() throws VerbsException {
        ProtectionDomain domain = domain();
        MemorySegment memory = memory(4096);
        MemoryRegion one = closing(domain.register(memory, WRITABLE));
        MemoryRegion two = closing(domain.register(memory, WRITABLE));
        assertNotEquals(one.localKey(), two.localKey());
        assertNotEquals(one.remoteKey(), two.remoteKey());
    }

    @Test
    void aPieceOfAnAllocationCanBeRegistered() throws VerbsException {
        MemorySegment piece = memory(10_000).asSlice(123, 4567);
        MemoryRegion region = closing(domain().register(piece, Set.of()));
        assertEquals(piece.address(), region.address());
        assertEquals(4567, region.lengthBytes());
    }

    @Test
    void allocatedMemoryIsAlignedZeroAndRegistered() throws VerbsException {
        ProtectionDomain domain = domain();
        for (long bytes : new long[] {1, 4096, 100_000}) {
            MemoryRegion first = domain.allocate(bytes, WRITABLE);
            assertTrue(first.lengthBytes() >= bytes, () -> bytes + " bytes asked, " + first.lengthBytes() + " given");
            assertEquals(0, first.address() % 4096);
            first.segment().fill((byte) 7);
            first.close();
            MemoryRegion second = closing(domain.allocate(bytes, WRITABLE));
            assertEquals(-1, second.segment().mismatch(memory(second.lengthBytes())), "used memory comes back zeroed");
        }
    }

    @Test
    void noMemoryCannotBeAllocated() throws VerbsException {
        ProtectionDomain domain = domain();
        assertThrows(IllegalArgumentException.class, () -> domain.allocate(0, WRITABLE));
        assertThrows(IllegalArgumentException.class, () -> domain.allocate(-1, WRITABLE));
    }

    @Test
    void heapAndEmptyMemoryIsRefused() throws VerbsException {
        ProtectionDomain domain = domain();
        assertThrows(IllegalArgumentException.class, () -> domain.register(MemorySegment.ofArray(new byte[10]),
                WRITABLE));
        assertThrows(IllegalArgumentException.class, () -> domain.register(memory(10).asSlice(5, 0), WRITABLE));
    }

    @Test
    void remoteWritingNeedsLocalWriting() throws VerbsException {
        ProtectionDomain domain = domain();
        refused(Errno.EINVAL, "LOCAL_WRITE", () -> domain.register(memory(4096), Set.of(AccessFlag.REMOTE_WRITE)));
    }

    @Test
    void memoryOfAnotherDeviceIsRefusedWithAReason() throws VerbsException {
        ProtectionDomain domain = domain();
        // Standard input is no DMA-BUF, so that a device that could take one refuses this as well.
        VerbsException e = assertThrows(VerbsException.class,
                () -> domain.registerDmaBuffer(new DmaBuffer(0, 0, 4096, 0), WRITABLE));
        assertEquals("ibv_reg_dmabuf_mr", e.call());
        assertTrue(e.getMessage().contains("; ") && e.getMessage().contains("DMA-BUF"), e::getMessage);
    }

    @Test
    void elementsOutsideTheRegionAreRefused() throws VerbsException {
        MemoryRegion region = closing(domain().register(memory(100), WRITABLE));
        SendRequest send = new SendRequest(2).send(1);
        ReceiveRequest receive = new ReceiveRequest(2).receive(1);
        assertThrows(IndexOutOfBoundsException.class, () -> send.add(region, 0, 101));
        assertThrows(IndexOutOfBoundsException.class, () -> send.add(region, -1, 5));
        assertThrows(IndexOutOfBoundsException.class, () -> receive.add(region, 96, 5));
        assertThrows(IndexOutOfBoundsException.class, () -> receive.add(region, Long.MAX_VALUE, 5));
        assertThrows(IndexOutOfBoundsException.class, () -> send.add(region, 50, -1));
        assertEquals(0, send.elements().count());
        send.add(region, 0, 100).add(region, 100, 0);
        assertThrows(IndexOutOfBoundsException.class, () -> send.add(region, 0, 1));
    }

    @Test
    void aClosedDomainRegistersNothing() throws VerbsException {
        ProtectionDomain domain = domain();
        domain.close();
        refusedAsClosed(() -> domain.register(memory(100), WRITABLE));
        refusedAsClosed(() -> domain.allocate(100, WRITABLE));
    }

    @Test
    void aRegionOutlivesTheCloseOfItsDomain() throws VerbsException {
        ProtectionDomain domain = domain();
        MemoryRegion region = domain.register(memory(100), WRITABLE);
        domain.close();
        assertEquals(100, region.lengthBytes());
        region.close();
        region.close();
        domain.close();
    }
}
