package org.rdmasockets.fault;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.rdmasockets.interop.TestBed;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** Bare verbs under a test's own control: where peers come from that do not keep to the protocol. */
final class RawNetwork implements AutoCloseable {
    private static final int POLL_MILLIS = 50;

    private final ConnectionManager manager;
    private final EventPoller poller;
    private volatile boolean closed;

    RawNetwork() throws VerbsException {
        VerbsProvider provider = Providers.ibverbs();
        manager = provider.createConnectionManager();
        poller = provider.createEventPoller();
        poller.add(manager);
        Thread.ofPlatform().daemon().name("raw network").start(this::drain);
    }

    private void drain() {
        try (manager; poller) {
            while (!closed) {
                poller.await(POLL_MILLIS, source -> { });
                manager.drainEvents();
            }
        } catch (VerbsException e) {
            System.err.println("raw peers get no more events: " + e);
        }
    }

    /** A peer that has a queue pair and memory, and has not said anything yet. */
    RawPeer peer(InetSocketAddress destination) throws IOException, InterruptedException {
        BlockingQueue<ConnectionEvent> events = new LinkedBlockingQueue<>();
        ConnectionIdentifier identifier = manager.createIdentifier((id, event) -> events.add(event));
        identifier.resolveAddress(destination, TestBed.PATIENCE_MILLIS);
        RawPeer.expect(ConnectionEvent.AddressResolved.class, events);
        identifier.resolveRoute(TestBed.PATIENCE_MILLIS);
        RawPeer.expect(ConnectionEvent.RouteResolved.class, events);
        return new RawPeer(identifier, events);
    }

    /** A listener whose requests the test answers; on a free port of the device's address. */
    ConnectionIdentifier listen(Consumer<ConnectionEvent.ConnectRequest> answer) throws IOException {
        ConnectionIdentifier listener = manager.createIdentifier((id, event) -> {
            if (event instanceof ConnectionEvent.ConnectRequest request) {
                Thread.ofPlatform().daemon().start(() -> answer.accept(request));
            }
        });
        listener.bind(new InetSocketAddress(TestBed.address(), 0));
        listener.listen(8);
        return listener;
    }

    /** The thread frees everything. */
    @Override
    public void close() {
        closed = true;
        poller.wakeup();
    }
}
