package org.rdmasockets.verbs;

/**
 * The way to a peer's port, for datagrams ({@code struct ibv_ah}). It has to stay open until the sends that use it have
 * completed.
 *
 * @since 0.1
 */
public interface AddressHandle extends AutoCloseable {
    /**
     * How long the routing header is that stands before the data of each datagram that was received, in bytes. Its
     * content means something only if {@link WorkCompletions#hasRoutingHeader} says so.
     */
    int ROUTING_HEADER_BYTES = 40;

    /** {@return the domain whose queue pairs may use it} */
    ProtectionDomain domain();

    /** Destroys the handle ({@code ibv_destroy_ah}). <em>May block</em>. */
    @Override
    void close();
}
