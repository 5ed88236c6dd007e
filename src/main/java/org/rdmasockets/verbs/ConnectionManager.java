package org.rdmasockets.verbs;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;

/**
 * Sets up and tears down connections ({@code librdmacm}): one non-blocking event channel
 * ({@code struct rdma_event_channel}) for all of its identifiers, so that no descriptor is spent per connection.
 *
 * @since 0.1
 */
public interface ConnectionManager extends EventSource, AutoCloseable {
    /**
     * Makes an identifier in the port space of TCP ({@code rdma_create_id}, {@code RDMA_PS_TCP}).
     *
     * @param handler gets its events, in the thread that calls {@link #drainEvents}
     * @return a new identifier
     * @throws VerbsException if none can be had
     */
    ConnectionIdentifier createIdentifier(ConnectionHandler handler) throws VerbsException;

    /**
     * Asks the routing table, without a packet, which local address connections to a destination would come from.
     *
     * @param destination the address to ask about
     * @return the local address; empty if this cannot tell, and the caller has to ask elsewhere
     */
    default Optional<InetAddress> sourceOf(InetSocketAddress destination) {
        return Optional.empty();
    }

    /**
     * Takes all events that are there ({@code rdma_get_cm_event}), acknowledges each ({@code rdma_ack_cm_event}) and
     * then gives it to the handler of its identifier. Never waits. One thread at a time.
     *
     * @return how many events were taken; 0 when this is closed
     * @throws VerbsException if reading failed
     */
    int drainEvents() throws VerbsException;

    /** Destroys the event channel once the last identifier is closed. */
    @Override
    void close();
}
