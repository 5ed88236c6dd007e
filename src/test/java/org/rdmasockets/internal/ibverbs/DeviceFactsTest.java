package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.ibverbs.generated.ibv_device_attr;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.TransportType;

/** The capabilities of devices, by what they say: as soft-RoCE, soft-iWARP and an adapter with all of it say it. */
class DeviceFactsTest {
    private static final Set<Capability> HARDWARE = EnumSet.complementOf(EnumSet.of(Capability.COPIES_AT_POST,
            Capability.SOFTWARE_TRANSFER, Capability.ON_DEMAND_PAGING));

    private final Arena arena = Arena.ofAuto();
    /** Without the structure that tells of paging. */
    private final MemorySegment context = arena.allocate(DeviceFacts.ABI_COMPAT + Long.BYTES, Long.BYTES);
    private final MemorySegment attr = ibv_device_attr.allocate(arena);

    private DeviceFacts facts(int vendor, TransportType transport) {
        ibv_device_attr.vendor_id(attr, vendor);
        return new DeviceFacts(context, transport, attr);
    }

    private void haveAll() {
        ibv_device_attr.atomic_cap(attr, rdma_h.IBV_ATOMIC_HCA());
        ibv_device_attr.max_srq(attr, 100);
        ibv_device_attr.max_mw(attr, 100);
        ibv_device_attr.device_cap_flags(attr, rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2B());
    }

    @Test
    void anAdapterWithAllOfItCanDoAllButWhatSoftwareDoes() {
        haveAll();
        assertEquals(HARDWARE, facts(0x02c9, TransportType.ROCE).capabilities());
    }

    @Test
    void softRoceKeepsNobodyWithinAWindow() {
        haveAll();
        Set<Capability> expected = EnumSet.copyOf(HARDWARE);
        expected.removeAll(Set.of(Capability.MEMORY_WINDOW_BOUNDS, Capability.HUGE_PAGES));
        expected.add(Capability.SOFTWARE_TRANSFER);
        DeviceFacts facts = facts(DeviceFacts.VENDOR_RXE, TransportType.ROCE);
        assertEquals(expected, facts.capabilities());
        assertFalse(facts.siw);
    }

    @Test
    void softIwarpHasSharedReceivesAndLittleElse() {
        ibv_device_attr.max_srq(attr, 100);
        DeviceFacts facts = facts(DeviceFacts.VENDOR_SIW, TransportType.IWARP);
        assertEquals(EnumSet.of(Capability.REMOTE_ACCESS_TO_ANY_MEMORY, Capability.SOFTWARE_TRANSFER,
                Capability.SHARED_RECEIVE_QUEUES), facts.capabilities());
        assertTrue(facts.siw);
    }

    @Test
    void windowsNeedBothTheFlagAndTheNumber() {
        ibv_device_attr.max_mw(attr, 100);
        assertFalse(facts(1, TransportType.INFINIBAND).capabilities().contains(Capability.MEMORY_WINDOWS));
        ibv_device_attr.device_cap_flags(attr, rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2A());
        assertTrue(facts(1, TransportType.INFINIBAND).capabilities().contains(Capability.MEMORY_WINDOWS));
        ibv_device_attr.max_mw(attr, 0);
        assertFalse(facts(1, TransportType.INFINIBAND).capabilities().contains(Capability.MEMORY_WINDOWS));
    }

    @Test
    void aRegionWithoutALimitIsNotNegative() {
        ibv_device_attr.max_mr_size(attr, -1L);
        assertEquals(Long.MAX_VALUE, facts(1, TransportType.ROCE).attributes().maxMemoryRegionBytes());
        ibv_device_attr.max_mr_size(attr, 4096);
        assertEquals(4096, facts(1, TransportType.ROCE).attributes().maxMemoryRegionBytes());
    }

    /** As {@code enum ibv_access_flags} has them, in the order of {@link AccessFlag}. */
    @Test
    void eachAccessFlagHasTheBitOfTheHeader() {
        Map<AccessFlag, Integer> bits = new EnumMap<>(Map.of(AccessFlag.LOCAL_WRITE, 1, AccessFlag.REMOTE_WRITE, 1 << 1,
                AccessFlag.REMOTE_READ, 1 << 2, AccessFlag.REMOTE_ATOMIC, 1 << 3, AccessFlag.MEMORY_WINDOW_BIND, 1 << 4,
                AccessFlag.ZERO_BASED, 1 << 5, AccessFlag.ON_DEMAND, 1 << 6, AccessFlag.HUGE_PAGES, 1 << 7,
                AccessFlag.RELAXED_ORDERING, 1 << 20));
        assertEquals(EnumSet.allOf(AccessFlag.class), bits.keySet());
        bits.forEach((flag, bit) -> {
            assertEquals(bit, AccessBits.of(Set.of(flag)), flag::toString);
            assertEquals(Set.of(flag), AccessBits.flags(bit), flag::toString);
        });
    }
}
