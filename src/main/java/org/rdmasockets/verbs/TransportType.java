package org.rdmasockets.verbs;

/**
 * The transport that carries a device's packets ({@code ibv_device.transport_type} and the link layer of its first
 * port).
 *
 * @since 0.1
 */
public enum TransportType {
    /** InfiniBand. */
    INFINIBAND,
    /** RDMA over Converged Ethernet, hardware or soft-RoCE. */
    ROCE,
    /** RDMA over TCP (RFC 5040 to 5044), hardware or soft-iWARP. */
    IWARP,
    /** Memory shared by processes of one host. */
    SHARED_MEMORY,
    /** Something this version has no name for. */
    UNKNOWN
}
