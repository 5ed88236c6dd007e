package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.connection.AcceptQueue;
import org.rdmasockets.internal.connection.VerbsListener;

/**
 * Accepts endpoints. Any number of threads may.
 *
 * @since 0.1
 */
public final class RdmaEndpointServer implements AutoCloseable {
    private final List<VerbsListener<EndpointProtocol>> listeners;
    private final AcceptQueue<EndpointProtocol> accepted;

    /** A server that listens by one listener for each provider, all on one port. */
    RdmaEndpointServer(List<VerbsListener<EndpointProtocol>> listeners, AcceptQueue<EndpointProtocol> accepted) {
        this.listeners = List.copyOf(listeners);
        this.accepted = accepted;
    }

    /** {@return the address as it was asked for, with the port in use} */
    public InetSocketAddress localAddress() {
        return listeners.getFirst().localAddress();
    }

    /**
     * Waits for the next connection.
     *
     * @return an endpoint
     * @throws IOException {@code SocketException} when this is closed, {@code InterruptedIOException} if this virtual
     *         thread was interrupted (status left set)
     */
    public RdmaEndpoint accept() throws IOException {
        return accept(Long.MAX_VALUE);
    }

    /**
     * Waits, for a time, for the next connection.
     *
     * @param limit longest wait
     * @return an endpoint
     * @throws IOException {@code SocketTimeoutException} if none has come, {@code SocketException} when this is closed,
     *         {@code InterruptedIOException} if this virtual thread was interrupted (status left set)
     */
    public RdmaEndpoint accept(Duration limit) throws IOException {
        return accept(NanoTimes.after(limit));
    }

    private RdmaEndpoint accept(long deadlineNanos) throws IOException {
        StackRoom.ensure();
        RdmaEndpoint endpoint = RdmaEndpoint.over(next(deadlineNanos));
        try {
            endpoint.link.accepted();
            return endpoint;
        } catch (Throwable e) {
            endpoint.link.connection().abort();
            throw e;
        }
    }

    /** Waits for the next connection, whose peer gets no memory before the caller says that it is accepted. */
    EndpointProtocol next(long deadlineNanos) throws IOException {
        return accepted.accept(deadlineNanos);
    }

    /** Stops listening: threads that wait in accept are told so, and untaken connections end. Idempotent. */
    @Override
    public void close() {
        StackRoom.ensure();
        listeners.forEach(VerbsListener::close);
        accepted.close();
    }
}
