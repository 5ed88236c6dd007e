package org.rdmasockets.internal.ibverbs;

import java.util.EnumSet;
import java.util.Set;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.AccessFlag;

/** {@link AccessFlag} as the bits of {@code enum ibv_access_flags}, and back. */
final class AccessBits {
    private AccessBits() {}

    /** The bits of some flags. */
    static int of(Set<AccessFlag> access) {
        int bits = 0;
        for (AccessFlag flag : access) {
            bits |= bit(flag);
        }
        return bits;
    }

    /** The flags of some bits; bits without a name are left out. */
    static Set<AccessFlag> flags(int bits) {
        Set<AccessFlag> access = EnumSet.noneOf(AccessFlag.class);
        for (AccessFlag flag : AccessFlag.values()) {
            if ((bits & bit(flag)) != 0) {
                access.add(flag);
            }
        }
        return access;
    }

    private static int bit(AccessFlag flag) {
        return switch (flag) {
            case LOCAL_WRITE -> rdma_h.IBV_ACCESS_LOCAL_WRITE();
            case REMOTE_WRITE -> rdma_h.IBV_ACCESS_REMOTE_WRITE();
            case REMOTE_READ -> rdma_h.IBV_ACCESS_REMOTE_READ();
            case REMOTE_ATOMIC -> rdma_h.IBV_ACCESS_REMOTE_ATOMIC();
            case MEMORY_WINDOW_BIND -> rdma_h.IBV_ACCESS_MW_BIND();
            case ZERO_BASED -> rdma_h.IBV_ACCESS_ZERO_BASED();
            case ON_DEMAND -> rdma_h.IBV_ACCESS_ON_DEMAND();
            case HUGE_PAGES -> rdma_h.IBV_ACCESS_HUGETLB();
            case RELAXED_ORDERING -> rdma_h.IBV_ACCESS_RELAXED_ORDERING();
        };
    }
}
