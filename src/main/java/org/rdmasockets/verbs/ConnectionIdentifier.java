package org.rdmasockets.verbs;

import java.net.InetSocketAddress;

/**
 * A connection in the making, a connection, or a listener ({@code struct rdma_cm_id}). Most calls only start
 * something; the outcome comes as a {@link ConnectionEvent}. The order for a client: {@link #resolveAddress},
 * {@link #resolveRoute}, {@link #createQueuePair}, post receives, {@link #connect}; for a server: {@link #bind},
 * {@link #listen}, then on each request {@link #createQueuePair}, post receives, {@link #accept}.
 *
 * @since 0.1
 */
public interface ConnectionIdentifier extends AutoCloseable {
    /**
     * Sets the handler that gets the events from now on: for an identifier that came with a request, or instead of
     * another handler.
     *
     * @param handler the new handler
     */
    void handler(ConnectionHandler handler);

    /**
     * Takes a local address, and with it a device unless the address is the wildcard ({@code rdma_bind_addr}). Costs
     * less than a millisecond and sends nothing.
     *
     * @param local address and port; port 0 takes a free one
     * @throws VerbsException {@link Errno#ENODEV} if no RDMA device has the address, {@link Errno#EADDRINUSE} if the
     *         port is taken
     */
    void bind(InetSocketAddress local) throws VerbsException;

    /**
     * Sets the traffic class of the packets to come ({@code rdma_set_option} with {@code RDMA_OPTION_ID_TOS}); the peer
     * answers with the same where the connection manager tells it. Before {@link #resolveRoute}; where nothing goes
     * over a network it changes nothing.
     *
     * @param bits the octet of RFC 2474, 0 to 255
     * @throws VerbsException if the connection manager refuses
     */
    void trafficClass(int bits) throws VerbsException;

    /**
     * Finds device and next hop ({@code rdma_resolve_addr}); ends in {@link ConnectionEvent.AddressResolved} or
     * {@link ConnectionEvent.Failed}.
     *
     * @param destination the address to reach
     * @param timeoutMillis longest wait in milliseconds, at least 1
     * @throws VerbsException if there is no route
     */
    void resolveAddress(InetSocketAddress destination, int timeoutMillis) throws VerbsException;

    /**
     * Finds the way ({@code rdma_resolve_route}); ends in {@link ConnectionEvent.RouteResolved} or
     * {@link ConnectionEvent.Failed}.
     *
     * @param timeoutMillis longest wait in milliseconds, at least 1
     * @throws VerbsException {@link Errno#ENODEV} if no RDMA device leads to the destination
     */
    void resolveRoute(int timeoutMillis) throws VerbsException;

    /** {@return the device that the address belongs to, or null before one is known} */
    Device device();

    /** {@return the number of the physical port from 1, or 0 before a device is known} */
    int portNumber();

    /**
     * Makes a protection domain for this connection alone. Once the route is resolved, or a request has come, a device
     * that shares memory with the other end may take the memory of this domain from what both have already.
     *
     * @return a domain of {@link #device()}, for queue pairs of this identifier only
     * @throws VerbsException if the device refuses
     */
    default ProtectionDomain allocateProtectionDomain() throws VerbsException {
        return device().allocateProtectionDomain();
    }

    /**
     * Makes the queue pair of this connection, ready for receives to be posted ({@code rdma_create_qp}). <em>May
     * block</em>.
     *
     * @param domain a protection domain of {@link #device()}
     * @param config sizes and completion queues
     * @return the queue pair; it must be closed before this identifier, which close() of this identifier ensures
     * @throws VerbsException if the device refuses, or a completion queue has no room for its requests
     */
    QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config) throws VerbsException;

    /**
     * Makes the queue pair of this connection, which takes its receives from a shared receive queue; else as
     * {@link #createQueuePair(ProtectionDomain, QueuePairConfig)}. <em>May block</em>.
     *
     * @param domain a protection domain of {@link #device()}, that of the receives: soft devices look their memory up
     *         in it
     * @param config sizes and completion queues; those of receives are the shared queue's, so they count for nothing
     * @param receives where receives are posted
     * @return the queue pair, which takes no receives itself
     * @throws VerbsException if the device refuses, or a completion queue has no room for its requests
     */
    default QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config, SharedReceiveQueue receives)
            throws VerbsException {
        throw new VerbsException("rdma_create_qp", Errno.EOPNOTSUPP.number(), "device=" + device(),
                "this device has no shared receive queues (Capability.SHARED_RECEIVE_QUEUES)");
    }

    /**
     * Asks the peer for a connection ({@code rdma_connect}); ends in {@link ConnectionEvent.Established},
     * {@link ConnectionEvent.Rejected}, {@link ConnectionEvent.Unreachable} or {@link ConnectionEvent.Failed}, perhaps
     * after {@link ConnectionEvent.RequestAcknowledged}.
     * <em>May block</em>: soft-iWARP connects a kernel socket inside this call, for minutes if the peer is silent, and
     * {@link #close()} blocks as long.
     *
     * @param parameters the values for the peer
     * @throws VerbsException if it cannot be asked
     */
    void connect(ConnectionParameters parameters) throws VerbsException;

    /**
     * Listens on the bound address ({@code rdma_listen}): requests come as {@link ConnectionEvent.ConnectRequest}.
     *
     * @param backlog most requests waiting in the kernel, at least 1
     * @throws VerbsException {@link Errno#EADDRINUSE} if the port is taken; iWARP shares the ports of TCP
     */
    void listen(int backlog) throws VerbsException;

    /**
     * Accepts a request ({@code rdma_accept}); ends in {@link ConnectionEvent.Established}. <em>May block</em>.
     *
     * @param parameters the values for the peer
     * @throws VerbsException if the peer has gone, or the device refuses
     */
    void accept(ConnectionParameters parameters) throws VerbsException;

    /**
     * Tells the peer that its request has arrived and is answered later: the message receipt acknowledgment (MRA) of
     * InfiniBand's connection manager. The peer gets {@link ConnectionEvent.RequestAcknowledged}, unless it has the
     * answer by then. Over {@code rdma_cm} this does nothing: the kernel acknowledges by itself, without an event.
     */
    default void acknowledge() {}

    /**
     * Refuses a request ({@code rdma_reject}).
     *
     * @param privateData the bytes for the peer, may be empty
     * @throws VerbsException if there is no request
     */
    void reject(byte[] privateData) throws VerbsException;

    /**
     * Ends the connection ({@code rdma_disconnect}); the peer gets {@link ConnectionEvent.Disconnected}. The queue
     * pair goes to the error state. <em>May block</em>.
     *
     * @throws VerbsException if there is no connection
     */
    void disconnect() throws VerbsException;

    /**
     * {@return the local address ({@code rdma_get_local_addr}) and port, the wildcard with port 0 before anything is
     * bound}
     */
    InetSocketAddress localAddress();

    /** {@return the peer's address ({@code rdma_get_peer_addr}) and port, or null without a peer} */
    InetSocketAddress remoteAddress();

    /**
     * Closes the queue pair and destroys the identifier ({@code rdma_destroy_id}). <em>May block</em>; waits for a
     * handler in progress, so it must not be called inside one.
     */
    @Override
    void close();
}
