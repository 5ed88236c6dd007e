package org.rdmasockets.verbs;

/**
 * An event of the connection manager ({@code struct rdma_cm_event}); each kind is a type of its own.
 *
 * @since 0.1
 */
public sealed interface ConnectionEvent {
    /**
     * The destination address has a device and a next hop ({@code RDMA_CM_EVENT_ADDR_RESOLVED}).
     *
     * @since 0.1
     */
    record AddressResolved() implements ConnectionEvent {}

    /**
     * The way to the destination is known ({@code RDMA_CM_EVENT_ROUTE_RESOLVED}).
     *
     * @since 0.1
     */
    record RouteResolved() implements ConnectionEvent {}

    /**
     * A peer wants to connect ({@code RDMA_CM_EVENT_CONNECT_REQUEST}). The handler that gets this owns the new
     * identifier: it must accept or reject it, and close it in the end.
     *
     * @param identifier the new connection, whose handler ignores events until one is set
     * @param parameters the values that the peer asks for
     * @since 0.1
     */
    record ConnectRequest(ConnectionIdentifier identifier, ConnectionParameters parameters) implements ConnectionEvent {
    }

    /**
     * The peer has the request and answers later, see {@link ConnectionIdentifier#acknowledge}.
     *
     * @since 0.1
     */
    record RequestAcknowledged() implements ConnectionEvent {}

    /**
     * The connection is up ({@code RDMA_CM_EVENT_ESTABLISHED}, or {@code CONNECT_RESPONSE}).
     *
     * @param parameters on the connecting side, the peer's answer
     * @since 0.1
     */
    record Established(ConnectionParameters parameters) implements ConnectionEvent {}

    /**
     * The peer rejected the request, or its connection manager did because no program listens
     * ({@code RDMA_CM_EVENT_REJECTED}).
     *
     * @param status the reason code: 8 on InfiniBand and RoCE when no program listens, 28 when the consumer rejected, 3
     *         when there is no room for one more request; a negative errno on iWARP
     * @param privateData the bytes that the peer added
     * @since 0.1
     */
    record Rejected(int status, byte[] privateData) implements ConnectionEvent {}

    /**
     * The peer did not answer ({@code RDMA_CM_EVENT_UNREACHABLE}).
     *
     * @param errorNumber why, positive errno
     * @since 0.1
     */
    record Unreachable(int errorNumber) implements ConnectionEvent {}

    /**
     * A step failed ({@code RDMA_CM_EVENT_ADDR_ERROR}, {@code ROUTE_ERROR}, {@code CONNECT_ERROR}).
     *
     * @param call the C call whose outcome this is: {@code rdma_resolve_addr}, {@code rdma_resolve_route} or
     *         {@code rdma_connect}
     * @param errorNumber why, positive errno
     * @param reason a sentence for a person where the number does not say it all, else empty
     * @since 0.1
     */
    record Failed(String call, int errorNumber, String reason) implements ConnectionEvent {
        /**
         * A failure that the number explains.
         *
         * @param call as above
         * @param errorNumber as above
         */
        public Failed(String call, int errorNumber) {
            this(call, errorNumber, "");
        }
    }

    /**
     * The peer closed, or died ({@code RDMA_CM_EVENT_DISCONNECTED}).
     *
     * @since 0.1
     */
    record Disconnected() implements ConnectionEvent {}

    /**
     * The device goes away ({@code RDMA_CM_EVENT_DEVICE_REMOVAL}).
     *
     * @since 0.1
     */
    record DeviceRemoved() implements ConnectionEvent {}

    /**
     * The device's network address changed ({@code RDMA_CM_EVENT_ADDR_CHANGE}).
     *
     * @since 0.1
     */
    record AddressChanged() implements ConnectionEvent {}

    /**
     * The queue pair number may be used again ({@code RDMA_CM_EVENT_TIMEWAIT_EXIT}).
     *
     * @since 0.1
     */
    record TimewaitExited() implements ConnectionEvent {}

    /**
     * A kind that has no name here.
     *
     * @param number the device's number of the kind
     * @param status its status
     * @since 0.1
     */
    record Unknown(int number, int status) implements ConnectionEvent {}
}
