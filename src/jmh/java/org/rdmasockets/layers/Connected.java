package org.rdmasockets.layers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.internal.waiting.CompletionPoller;
import org.rdmasockets.internal.waiting.PollerSettings;
import org.rdmasockets.internal.rsockets.ConnectData;
import org.rdmasockets.verbs.ConnectionEvent.AddressResolved;
import org.rdmasockets.verbs.ConnectionEvent.ConnectRequest;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.ConnectionEvent.RouteResolved;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsException;

/** Two connected ends on two hosts. */
final class Connected implements AutoCloseable {
    private static final int RESOLVE_MILLIS = 5_000;
    private static final int TICK_MILLIS = 500;
    private static final int SPIN_NANOS = 50_000;

    final End client;
    final End server;
    private final Host near = new Host();
    private final Host far = new Host();

    /**
     * Connects.
     *
     * @param inboxes whether completions come by way of inboxes
     * @param started whether the streams talk; otherwise the queue pairs are left to the caller
     */
    Connected(boolean inboxes, boolean started) throws IOException {
        ConnectionIdentifier listener = far.identifier();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        listener.listen(1);
        ConnectionIdentifier dialling = near.identifier();
        dialling.resolveAddress(listener.localAddress(), RESOLVE_MILLIS);
        near.await(AddressResolved.class, far);
        dialling.resolveRoute(RESOLVE_MILLIS);
        near.await(RouteResolved.class, far);
        client = new End(dialling, inboxes ? poller(near) : null);
        dialling.connect(parameters(client));
        ConnectRequest request = far.await(ConnectRequest.class, near);
        request.identifier().handler(far.handler());
        server = new End(request.identifier(), inboxes ? poller(far) : null);
        request.identifier().accept(parameters(server));
        Established answer = near.await(Established.class, far);
        far.await(Established.class, near);
        if (started) {
            server.stream.start(ConnectData.decode(request.parameters().privateData()));
            client.stream.start(ConnectData.decode(answer.parameters().privateData()));
        }
    }

    private static ConnectionParameters parameters(End end) {
        return new ConnectionParameters(end.stream.localData().encode(), 0, 0, 6, 7);
    }

    private static CompletionPoller poller(Host host) throws VerbsException {
        return new CompletionPoller(host.provider().createEventPoller(), PollerSettings.defaults()
                .withSpinBudgetNanos(SPIN_NANOS).withTickMillis(TICK_MILLIS));
    }

    @Override
    public void close() {
        client.queuePair.close();
        server.queuePair.close();
        near.close();
        far.close();
    }
}
