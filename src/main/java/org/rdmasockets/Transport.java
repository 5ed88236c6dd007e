package org.rdmasockets;

import java.util.List;

/**
 * How the bytes of a socket travel, and why so: the value of {@link RdmaSocketOptions#TRANSPORT}. The constants are for
 * asking; what an option gives has a reason, so compare it with {@link #is}.
 *
 * @param name {@code auto}, {@code sharedmemory}, {@code ibverbs}, {@code tcp}, or {@code udp} for datagrams
 * @param reason why it was chosen, for people; empty if nothing has been chosen yet
 * @since 0.1
 */
public record Transport(String name, String reason) {
    /** Before the constants, whose constructor looks at it. */
    private static final List<String> NAMES = List.of("auto", "sharedmemory", "ibverbs", "tcp", "udp");

    /**
     * The first that leads to the peer: shared memory if it is on this host, InfiniBand or RoCE if a device leads
     * there, and TCP. A server socket listens on all of them.
     */
    public static final Transport AUTO = new Transport("auto", "");
    /** Memory shared by the processes of one host. */
    public static final Transport SHARED_MEMORY = new Transport("sharedmemory", "");
    /** RDMA devices: InfiniBand, RoCE and iWARP. */
    public static final Transport IBVERBS = new Transport("ibverbs", "");
    /** An ordinary socket of {@code java.net}. */
    public static final Transport TCP = new Transport("tcp", "");
    /** An ordinary datagram socket of {@code java.net}. */
    public static final Transport UDP = new Transport("udp", "");

    /** Checks the name. */
    public Transport {
        if (!NAMES.contains(name)) {
            throw new IllegalArgumentException("'" + name + "' is no transport: one of " + String.join(", ", NAMES)
                    + " is wanted");
        }
    }

    /**
     * Tells whether this is a certain transport, for any reason.
     *
     * @param other the transport in question
     * @return whether the names are the same
     */
    public boolean is(Transport other) {
        return name.equals(other.name);
    }

    // Written by hand, because the compiler's version spins classes in a JVM that starts.
    @Override
    public boolean equals(Object other) {
        return other instanceof Transport that && name.equals(that.name) && reason.equals(that.reason);
    }

    @Override
    public int hashCode() {
        return name.hashCode() * 31 + reason.hashCode();
    }

    /** {@return text for people, such as {@code tcp (ibverbs: This machine has no RDMA device ...)}} */
    @Override
    public String toString() {
        return reason.isEmpty() ? name : name + " (" + reason + ")";
    }
}
