package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.rdmasockets.internal.ibverbs.generated.ibv_gid_entry;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.GidEntry;
import org.rdmasockets.verbs.VerbsException;

/** Reads the GID tables of all ports of a device at once ({@code ibv_query_gid_table}). */
final class GidTable {
    /** A first guess: the kernel says EINVAL for a table that is too small, and tables have at most some hundreds. */
    private static final int FEW = 256;
    private static final int MANY = 1 << 16;

    private GidTable() {}

    /** All entries that are in use, by port and index. */
    static List<GidEntry> read(MemorySegment context, String text) throws VerbsException {
        try {
            return read(context, text, FEW);
        } catch (VerbsException e) {
            return read(context, text, MANY);
        }
    }

    private static List<GidEntry> read(MemorySegment context, String text, int most) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment table = ibv_gid_entry.allocateArray(most, arena);
            long count = ControlCall.IBV_QUERY_GID_TABLE.run(context, table, (long) most, 0,
                    ibv_gid_entry.sizeof());
            if (count < 0) {
                throw ControlCall.IBV_QUERY_GID_TABLE.failure((int) -count, text);
            }
            List<GidEntry> entries = new ArrayList<>();
            for (long i = 0; i < count; i++) {
                entries.add(entry(ibv_gid_entry.asSlice(table, i)));
            }
            entries.sort(Comparator.comparingInt(GidEntry::portNumber).thenComparingInt(GidEntry::index));
            return entries;
        }
    }

    private static GidEntry entry(MemorySegment entry) {
        return new GidEntry(ibv_gid_entry.port_num(entry), ibv_gid_entry.gid_index(entry),
                new Gid(ibv_gid_entry.gid(entry).toArray(ValueLayout.JAVA_BYTE)), type(ibv_gid_entry.gid_type(entry)),
                ibv_gid_entry.ndev_ifindex(entry));
    }

    private static GidEntry.Type type(int number) {
        if (number == rdma_h.IBV_GID_TYPE_IB()) {
            return GidEntry.Type.INFINIBAND;
        } else if (number == rdma_h.IBV_GID_TYPE_ROCE_V1()) {
            return GidEntry.Type.ROCE_V1;
        }
        return number == rdma_h.IBV_GID_TYPE_ROCE_V2() ? GidEntry.Type.ROCE_V2 : GidEntry.Type.UNKNOWN;
    }
}
