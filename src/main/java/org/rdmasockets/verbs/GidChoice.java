package org.rdmasockets.verbs;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Chooses port and GID for queue pairs that are connected by hand, so that no program has to know the right index on
 * each machine: both ends need GIDs that reach each other, and packets of the same kind.
 *
 * <p>RoCE version 2 comes first, because routers forward it: with an IPv4 address, then with an IPv6 address, then with
 * one that is valid on its link alone. RoCE version 1 follows, then InfiniBand and iWARP, whose first entry it is.
 * Among equals the lowest port and index are taken.
 *
 * @since 0.1
 */
public final class GidChoice {
    private static final Comparator<GidEntry> ORDER = Comparator.comparingInt(GidChoice::rank)
            .thenComparingInt(GidEntry::portNumber).thenComparingInt(GidEntry::index);

    private GidChoice() {}

    /**
     * Chooses from the ports of a device that are active.
     *
     * @param device the device
     * @return the best entry
     * @throws VerbsException {@link Errno#ENODEV} if no port is active or none has a GID; else if the device refuses
     */
    public static GidEntry of(Device device) throws VerbsException {
        List<GidEntry> entries = new ArrayList<>();
        List<String> states = new ArrayList<>();
        for (int port = 1; port <= device.attributes().ports(); port++) {
            PortAttributes.State state = device.port(port).state();
            states.add("port " + port + " is " + state);
            if (state == PortAttributes.State.ACTIVE) {
                entries.addAll(device.gidTable(port));
            }
        }
        return best(entries).orElseThrow(() -> new VerbsException("ibv_query_gid_table", Errno.ENODEV.number(),
                "device=" + device.info().name() + ", " + String.join(", ", states),
                "no active port has a GID: set the link up, and give its network interface an address"));
    }

    /**
     * Chooses from a table.
     *
     * @param entries entries in any order
     * @return the best one; empty if none is in use
     */
    public static Optional<GidEntry> best(List<GidEntry> entries) {
        return entries.stream().filter(entry -> !entry.gid().isZero()).min(ORDER);
    }

    private static int rank(GidEntry entry) {
        return switch (entry.type()) {
            case ROCE_V2 -> entry.gid().isIpv4() ? 0 : entry.gid().isLinkLocal() ? 2 : 1;
            case ROCE_V1 -> 3;
            case INFINIBAND -> 4;
            case UNKNOWN -> 5;
        };
    }
}
