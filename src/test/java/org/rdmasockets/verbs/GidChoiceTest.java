package org.rdmasockets.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.GidEntry.Type;

/** The choice of a GID, over tables as machines have them. */
class GidChoiceTest {
    private static final Gid IPV4 = gid("00000000000000000000ffff0a4d0001");
    private static final Gid OTHER_IPV4 = gid("00000000000000000000ffff0a4d0002");
    private static final Gid IPV6 = gid("fd770000000000000000000000000001");
    private static final Gid LINK_LOCAL = gid("fe80000000000000505400fffe123456");
    private static final Gid ZERO = gid("00000000000000000000000000000000");

    /** From the best to the worst. */
    private static final List<GidEntry> BY_RANK = List.of(
            entry(1, 5, IPV4, Type.ROCE_V2), entry(1, 7, OTHER_IPV4, Type.ROCE_V2), entry(2, 1, IPV4, Type.ROCE_V2),
            entry(1, 3, IPV6, Type.ROCE_V2), entry(1, 1, LINK_LOCAL, Type.ROCE_V2), entry(1, 0, IPV4, Type.ROCE_V1),
            entry(1, 2, IPV6, Type.ROCE_V1), entry(2, 0, LINK_LOCAL, Type.INFINIBAND),
            entry(2, 2, IPV6, Type.INFINIBAND), entry(1, 4, IPV4, Type.UNKNOWN));

    private static Gid gid(String hex) {
        return new Gid(HexFormat.of().parseHex(hex));
    }

    private static GidEntry entry(int port, int index, Gid gid, Type type) {
        return new GidEntry(port, index, gid, type, 2);
    }

    @Test
    void theBestIsChosenWhateverTheOrderAndWhateverIsMissing() {
        List<GidEntry> table = new ArrayList<>(BY_RANK);
        Random random = new Random(1);
        for (GidEntry best : BY_RANK) {
            Collections.shuffle(table, random);
            assertEquals(Optional.of(best), GidChoice.best(table));
            table.remove(best);
        }
        assertEquals(Optional.empty(), GidChoice.best(table));
    }

    @Test
    void entriesThatAreNotInUseDoNotCount() {
        GidEntry used = entry(1, 1, LINK_LOCAL, Type.ROCE_V1);
        assertEquals(Optional.of(used), GidChoice.best(List.of(entry(1, 0, ZERO, Type.ROCE_V2), used)));
        assertEquals(Optional.empty(), GidChoice.best(List.of(entry(1, 0, ZERO, Type.INFINIBAND))));
    }

    @Test
    void addressesAreTold() {
        assertTrue(IPV4.isIpv4());
        assertFalse(IPV4.isLinkLocal());
        assertFalse(IPV6.isIpv4());
        assertFalse(IPV6.isLinkLocal());
        assertTrue(LINK_LOCAL.isLinkLocal());
        assertTrue(gid("febf0000000000000000000000000001").isLinkLocal(), "the last of fe80::/10");
        assertFalse(gid("fec00000000000000000000000000001").isLinkLocal());
        assertFalse(ZERO.isIpv4());
    }
}
