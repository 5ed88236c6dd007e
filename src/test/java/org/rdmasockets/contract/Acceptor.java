package org.rdmasockets.contract;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent.ConnectRequest;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** Listens on a free port, with an event loop of its own, and takes what comes; one thread at a time asks it. */
final class Acceptor implements AutoCloseable {
    final VerbsProvider provider;
    final EventLoop loop;
    final ConnectionEvents requests = new ConnectionEvents();
    private final ConnectionIdentifier listener;
    private final InetSocketAddress address;
    /** Requests that were looked at, the last one first; closed with this. */
    private final Deque<ConnectRequest> taken = new ArrayDeque<>();

    Acceptor(VerbsProvider provider, InetAddress address) throws VerbsException {
        this.provider = provider;
        loop = new EventLoop(provider);
        listener = Pair.listen(loop, address, requests);
        this.address = listener.localAddress();
    }

    /** The device that listens: the listener is bound to an address, so it knows. */
    Device device() {
        return listener.device();
    }

    InetSocketAddress address() {
        return address;
    }

    /** Waits for a request. */
    ConnectionIdentifier request() {
        taken.push(requests.await(ConnectRequest.class));
        return taken.peek().identifier();
    }

    /** The private data of the last request. */
    byte[] privateData() {
        return taken.element().parameters().privateData();
    }

    /** Waits for a request and makes this end of it; it is not accepted yet. */
    End prepare() throws VerbsException {
        return prepare(null);
    }

    /** As above, with a completion queue of the caller, or a new one for null. */
    End prepare(CompletionQueue queue) throws VerbsException {
        ConnectionIdentifier identifier = request();
        ConnectionEvents events = new ConnectionEvents();
        identifier.handler(events);
        return new End(identifier, events, queue);
    }

    /** Waits for a request and accepts it: this end of the connection, to be closed by the caller. */
    End accept() throws VerbsException {
        End end = prepare();
        end.identifier.accept(Pair.ANSWER);
        end.events.await(Established.class);
        return end;
    }

    /** Listens no more. */
    void stopListening() {
        listener.close();
    }

    @Override
    public void close() {
        taken.forEach(request -> request.identifier().close());
        listener.close();
        loop.close();
    }
}
