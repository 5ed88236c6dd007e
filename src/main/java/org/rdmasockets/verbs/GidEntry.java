package org.rdmasockets.verbs;

/**
 * An entry of a port's GID table that is in use ({@code struct ibv_gid_entry}).
 *
 * @param portNumber the port
 * @param index where in the table
 * @param gid the identifier
 * @param type the format of packets under it
 * @param interfaceIndex the network interface it belongs to, 0 if there is none
 * @since 0.1
 */
public record GidEntry(int portNumber, int index, Gid gid, Type type, int interfaceIndex) {
    /**
     * The format of packets ({@code enum ibv_gid_type}).
     *
     * @since 0.1
     */
    public enum Type {
        /** InfiniBand, and iWARP, whose GIDs are no addresses. */
        INFINIBAND,
        /** RoCE version 1: Ethernet packets, which no router forwards. */
        ROCE_V1,
        /** RoCE version 2: UDP packets. */
        ROCE_V2,
        /** The device does not say. */
        UNKNOWN
    }
}
