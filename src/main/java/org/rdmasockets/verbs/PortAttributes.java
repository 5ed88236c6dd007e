package org.rdmasockets.verbs;

/**
 * The state and limits of a port ({@code ibv_query_port}).
 *
 * @param state whether it can carry traffic
 * @param linkLayer the protocol of the cable
 * @param maxMtuBytes largest path MTU the port can use, in bytes
 * @param activeMtuBytes path MTU in use, in bytes
 * @param maxMessageBytes largest message, in bytes
 * @param lid local identifier, 0 on Ethernet
 * @param gidTableLength number of entries of the GID table
 * @since 0.1
 */
public record PortAttributes(State state, LinkLayer linkLayer, int maxMtuBytes, int activeMtuBytes,
        long maxMessageBytes, int lid, int gidTableLength) {

    /**
     * State of a port ({@code enum ibv_port_state}).
     *
     * @since 0.1
     */
    public enum State {
        /** No state change in progress, nothing known. */
        NOP,
        /** No link. */
        DOWN,
        /** Link, not configured. */
        INIT,
        /** Configured, not yet active. */
        ARMED,
        /** Carries traffic. */
        ACTIVE,
        /** Active, the link is about to fail. */
        ACTIVE_DEFER,
        /** A number that has no name here. */
        UNKNOWN
    }

    /**
     * Link layer of a port ({@code IBV_LINK_LAYER_*}).
     *
     * @since 0.1
     */
    public enum LinkLayer {
        /** Not said (iWARP devices often do not). */
        UNSPECIFIED,
        /** InfiniBand. */
        INFINIBAND,
        /** Ethernet. */
        ETHERNET
    }
}
