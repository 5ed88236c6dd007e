package org.rdmasockets.contract;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent.AddressResolved;
import org.rdmasockets.verbs.ConnectionEvent.ConnectRequest;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.ConnectionEvent.RouteResolved;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsException;

/** Two connected ends in one process, the one that connected and the one that accepted. */
public final class Pair implements AutoCloseable {
    static final ConnectionParameters PARAMETERS = new ConnectionParameters(new byte[] {1, 2, 3, 4}, 1, 1, 6, 7);
    static final ConnectionParameters ANSWER = new ConnectionParameters(new byte[] {5, 6, 7}, 1, 1, 6, 7);
    static final int RESOLVE_MILLIS = 5000;

    public final End active;
    public final End passive;
    final ConnectRequest request;
    final Established answer;
    private final ConnectionIdentifier listener;

    /** Connects over a listener of its own. */
    public Pair(EventLoop loop, InetAddress address) throws VerbsException {
        this(loop, address, null);
    }

    /** Connects; both ends use the completion queue, or one of their own each for null. */
    Pair(EventLoop loop, InetAddress address, CompletionQueue shared) throws VerbsException {
        ConnectionEvents requests = new ConnectionEvents();
        listener = listen(loop, address, requests);
        ConnectionEvents activeEvents = new ConnectionEvents();
        ConnectionIdentifier client = resolve(loop, listener.localAddress(), activeEvents);
        active = new End(client, activeEvents, shared);
        client.connect(PARAMETERS);
        request = requests.await(ConnectRequest.class);
        ConnectionEvents passiveEvents = new ConnectionEvents();
        request.identifier().handler(passiveEvents);
        passive = new End(request.identifier(), passiveEvents, shared);
        request.identifier().accept(ANSWER);
        answer = activeEvents.await(Established.class);
        passiveEvents.await(Established.class);
    }

    static ConnectionIdentifier listen(EventLoop loop, InetAddress address, ConnectionHandler requests)
            throws VerbsException {
        ConnectionIdentifier listener = loop.manager().createIdentifier(requests);
        listener.bind(new InetSocketAddress(address, 0));
        listener.listen(16);
        return listener;
    }

    /** An identifier with address and route resolved. */
    static ConnectionIdentifier resolve(EventLoop loop, InetSocketAddress destination, ConnectionEvents events)
            throws VerbsException {
        ConnectionIdentifier client = loop.manager().createIdentifier(events);
        client.resolveAddress(destination, RESOLVE_MILLIS);
        events.await(AddressResolved.class);
        client.resolveRoute(RESOLVE_MILLIS);
        events.await(RouteResolved.class);
        return client;
    }

    @Override
    public void close() {
        active.close();
        passive.close();
        listener.close();
    }
}
