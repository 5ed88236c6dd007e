package org.rdmasockets.contract;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** The flags of memory that not every device has. */
abstract class AccessContract extends VerbsContract {
    private static final int VALUE = 0x01020304;

    @ParameterizedTest
    @EnumSource(AccessFlag.class)
    void aFlagIsRefusedByNameWhereTheDeviceLacksIt(AccessFlag flag) throws VerbsException {
        Capability needed = flag.capability().orElse(null);
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        Set<AccessFlag> access = Set.copyOf(EnumSet.of(AccessFlag.LOCAL_WRITE, flag));
        if (needed != null && !device().supports(needed)) {
            refused(Errno.EOPNOTSUPP, "Capability." + needed, () -> domain.allocate(4096, access));
        } else if (flag != AccessFlag.HUGE_PAGES && (flag != AccessFlag.REMOTE_ATOMIC
                || device().supports(Capability.ATOMICS))) {
            assertEquals(access, closing(domain.allocate(4096, access)).access());
        }
    }

    @Test
    void relaxedOrderingIsAWishThatChangesNothingElse() throws VerbsException {
        Pair pair = connect();
        MemoryRegion region = closing(pair.passive.domain.allocate(4096, Set.of(AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE, AccessFlag.RELAXED_ORDERING)));
        write(pair, region, region.address() + 40);
        assertEquals(VALUE, region.segment().get(JAVA_INT, 40));
    }

    /** Writes a number to the passive end's memory, and waits until it is there. */
    private static void write(Pair pair, MemoryRegion target, long address) throws VerbsException {
        pair.active.memory.set(JAVA_INT, 0, VALUE);
        pair.active.send.write(1, address, target.remoteKey()).add(pair.active.region, 0, 4).signalled();
        pair.active.postSend();
        pair.active.awaitSuccess(1);
        // A send behind it: on iWARP a write's completion is no delivery, but order is kept.
        pair.passive.postReceive(2, 0, 100);
        pair.active.send.send(3).add(pair.active.region, 0, 1).signalled();
        pair.active.postSend();
        pair.active.awaitSuccess(3);
        pair.passive.awaitSuccess(2);
    }

    @Test
    void zeroBasedMemoryIsNamedByOffsets() throws VerbsException {
        needs(Capability.ZERO_BASED_MEMORY);
        Pair pair = connect();
        Set<AccessFlag> access = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.ZERO_BASED);
        MemoryRegion region = closing(pair.passive.domain.allocate(8192, access));
        assertEquals(0, region.address());
        write(pair, region, 40);
        assertEquals(VALUE, region.segment().get(JAVA_INT, 40));
        // As a source, by the device and by the processor.
        MemoryRegion source = closing(pair.active.domain.allocate(8192, access));
        source.segment().set(JAVA_INT, 4096, 77);
        pair.active.send.write(4, 80, region.remoteKey()).add(source, 4096, 4).signalled();
        pair.active.postSend();
        pair.active.awaitSuccess(4);
        pair.active.send.write(5, 84, region.remoteKey()).add(source, 4096, 4).inline().signalled();
        pair.active.postSend();
        pair.active.awaitSuccess(5);
        assertEquals(77, region.segment().get(JAVA_INT, 80));
        assertEquals(77, region.segment().get(JAVA_INT, 84));
        pair.active.send.write(6, 8190, region.remoteKey()).add(source, 0, 4).signalled();
        pair.active.postSend();
        assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, pair.active.await().status(), "beyond the end");
    }

    @Test
    void zeroBasedMemoryBeginsAtAPage() throws VerbsException {
        needs(Capability.ZERO_BASED_MEMORY);
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        MemorySegment memory = Arena.ofAuto().allocate(8192, 4096);
        refused(Errno.EINVAL, "page", () -> domain.register(memory.asSlice(8), Set.of(AccessFlag.ZERO_BASED)));
    }
}
