package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionEvent.ConnectRequest;
import org.rdmasockets.verbs.ConnectionEvent.Disconnected;
import org.rdmasockets.verbs.ConnectionEvent.Rejected;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;

/** Connecting, refusing and disconnecting. */
abstract class ConnectionContract extends ContractTest {
    private static final long LIMIT_SECONDS = 30;
    private final ConnectionEvents requests = new ConnectionEvents();

    private ConnectionIdentifier identifier() throws VerbsException {
        return closing(loop().manager().createIdentifier(new ConnectionEvents()));
    }

    private ConnectionIdentifier listener() throws VerbsException {
        return closing(Pair.listen(loop(), fixture().address(), requests));
    }

    private End client(InetSocketAddress destination) throws VerbsException {
        ConnectionEvents events = new ConnectionEvents();
        return closing(new End(closing(Pair.resolve(loop(), destination, events)), events));
    }

    private boolean iwarp() throws VerbsException {
        return device().info().transport() == TransportType.IWARP;
    }

    @Test
    void bothEndsKnowBothAddresses() throws VerbsException {
        Pair pair = connect();
        InetSocketAddress active = pair.active.identifier.localAddress();
        InetSocketAddress passive = pair.active.identifier.remoteAddress();
        assertEquals(fixture().address(), active.getAddress());
        assertEquals(fixture().address(), passive.getAddress());
        assertTrue(active.getPort() > 0 && passive.getPort() > 0);
        assertEquals(passive, pair.passive.identifier.localAddress());
        assertEquals(active, pair.passive.identifier.remoteAddress());
        pair.close();
        assertEquals(active, pair.active.identifier.localAddress(), "remembered after close");
        assertEquals(passive, pair.active.identifier.remoteAddress(), "remembered after close");
    }

    @Test
    void anIdentifierBeginsWithoutAddressAndDevice() throws VerbsException {
        ConnectionIdentifier identifier = identifier();
        assertEquals(new InetSocketAddress(0), identifier.localAddress());
        assertNull(identifier.remoteAddress());
        assertNull(identifier.device());
        assertEquals(0, identifier.portNumber());
    }

    @Test
    void privateDataTravelsBothWays() throws VerbsException {
        Pair pair = connect();
        assertStartsWith(Pair.PARAMETERS.privateData(), pair.request.parameters().privateData());
        assertStartsWith(Pair.ANSWER.privateData(), pair.answer.parameters().privateData());
    }

    /** Transports may pad with zeros, and do nothing else. */
    private static void assertStartsWith(byte[] expected, byte[] actual) {
        assertTrue(actual.length >= expected.length, () -> "length " + actual.length);
        assertArrayEquals(Arrays.copyOf(expected, actual.length), actual);
    }

    @Test
    void tooMuchPrivateDataIsRefused() throws VerbsException {
        End client = client(listener().localAddress());
        refused(Errno.EINVAL, "private", () -> client.identifier.connect(
                new ConnectionParameters(new byte[256], 1, 1, 6, 7)));
        if (!iwarp()) {
            refused(Errno.EINVAL, "private", () -> client.identifier.connect(
                    new ConnectionParameters(new byte[57], 1, 1, 6, 7)));
        }
    }

    @Test
    void aRequestCanBeRejectedWithAReason() throws VerbsException {
        End client = client(listener().localAddress());
        client.identifier.connect(Pair.PARAMETERS);
        try (ConnectionIdentifier request = requests.await(ConnectRequest.class).identifier()) {
            request.reject(new byte[] {9, 8, 7});
            assertStartsWith(new byte[] {9, 8, 7}, client.events.await(Rejected.class).privateData());
        }
    }

    @Test
    void aRequestThatIsClosedIsRejected() throws VerbsException {
        End client = client(listener().localAddress());
        client.identifier.connect(Pair.PARAMETERS);
        requests.await(ConnectRequest.class).identifier().close();
        client.events.await(Rejected.class);
    }

    @Test
    void aPortWithoutListenerIsRefused() throws VerbsException {
        ConnectionIdentifier listener = listener();
        InetSocketAddress destination = listener.localAddress();
        listener.close();
        ConnectionEvents events = new ConnectionEvents();
        ConnectionIdentifier identifier = closing(loop().manager().createIdentifier(events));
        identifier.resolveAddress(destination, Pair.RESOLVE_MILLIS);
        events.await(ConnectionEvent.AddressResolved.class);
        identifier.resolveRoute(Pair.RESOLVE_MILLIS);
        if (events.await(ConnectionEvent.class) instanceof ConnectionEvent.Failed failed) {
            // Where the way is to be found at the listener only.
            assertEquals(Errno.ECONNREFUSED.number(), failed.errorNumber());
            return;
        }
        closing(new End(identifier, events));
        if (iwarp()) {
            refused(Errno.ECONNREFUSED, "" + destination.getPort(), () -> identifier.connect(Pair.PARAMETERS));
        } else {
            identifier.connect(Pair.PARAMETERS);
            assertEquals(8, events.await(Rejected.class).status());
        }
    }

    @Test
    void disconnectingIsSeenByThePeer() throws VerbsException {
        Pair pair = connect();
        pair.active.identifier.disconnect();
        pair.passive.events.await(Disconnected.class);
    }

    @Test
    void closingIsSeenByThePeer() throws VerbsException {
        Pair pair = connect();
        pair.active.close();
        pair.passive.events.await(Disconnected.class);
    }

    @Test
    void aPortIsTakenOnce() throws VerbsException {
        ConnectionIdentifier listener = listener();
        ConnectionIdentifier second = identifier();
        refused(Errno.EADDRINUSE, "taken", () -> {
            second.bind(listener.localAddress());
            second.listen(1);
        });
    }

    @Test
    void anAddressWithoutDeviceIsRefused() throws VerbsException {
        assumeTrue(!fixture().address().isLoopbackAddress(), "this provider's devices serve the loopback address");
        ConnectionIdentifier identifier = identifier();
        refused(Errno.ENODEV, "no RDMA device for this address",
                () -> identifier.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)));
    }

    @Test
    void anUnresolvedAddressIsRefused() throws VerbsException {
        ConnectionIdentifier identifier = identifier();
        InetSocketAddress unresolved = InetSocketAddress.createUnresolved("unresolved.invalid", 1);
        assertThrows(IllegalArgumentException.class, () -> identifier.bind(unresolved));
        assertThrows(IllegalArgumentException.class, () -> identifier.resolveAddress(unresolved, 1000));
    }

    @Test
    void connectingNeedsAQueuePair() throws VerbsException {
        ConnectionIdentifier client = closing(Pair.resolve(loop(), listener().localAddress(), new ConnectionEvents()));
        refused(Errno.EINVAL, "queue pair", () -> client.connect(Pair.PARAMETERS));
    }

    @Test
    void anIdentifierHasOneQueuePair() throws VerbsException {
        End client = client(listener().localAddress());
        refused(Errno.EINVAL, "has a queue pair already",
                () -> client.identifier.createQueuePair(client.domain, End.config(client.queue)));
    }

    @Test
    void aQueuePairNeedsADevice() throws VerbsException {
        End client = client(listener().localAddress());
        ConnectionIdentifier unbound = identifier();
        refused(Errno.EINVAL, "no device is known yet",
                () -> unbound.createQueuePair(client.domain, End.config(client.queue)));
    }

    @Test
    void aListenerThatClosesRejectsWhatNobodyTook() throws Exception {
        CountDownLatch draining = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        ConnectionIdentifier blocker = closing(loop().manager().createIdentifier((id, event) -> {
            draining.countDown();
            awaitQuietly(closed);
        }));
        ConnectionIdentifier listener = listener();
        End client = client(listener.localAddress());
        End second = client(listener.localAddress());
        // The event thread is kept busy, so that the requests are not delivered before the listener closes.
        blocker.resolveAddress(listener.localAddress(), Pair.RESOLVE_MILLIS);
        assertTrue(draining.await(LIMIT_SECONDS, TimeUnit.SECONDS), "the event thread is in the handler");
        client.identifier.connect(Pair.PARAMETERS);
        second.identifier.connect(Pair.PARAMETERS);
        listener.close();
        closed.countDown();
        client.events.await(Rejected.class);
        second.events.await(Rejected.class);
        assertEquals(0, requests.waiting(), "requests delivered by a closed listener");
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void closingWaitsForTheHandler() throws Exception {
        CountDownLatch inHandler = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        ConnectionIdentifier listener = listener();
        ConnectionIdentifier identifier = closing(loop().manager().createIdentifier((id, event) -> {
            inHandler.countDown();
            awaitQuietly(leave);
        }));
        identifier.resolveAddress(listener.localAddress(), Pair.RESOLVE_MILLIS);
        assertTrue(inHandler.await(LIMIT_SECONDS, TimeUnit.SECONDS), "the event thread is in the handler");
        Thread closer = Thread.ofPlatform().start(identifier::close);
        while (closer.getState() != Thread.State.WAITING) {
            assertTrue(closer.isAlive(), "close() returned while the handler runs");
            Thread.onSpinWait();
        }
        leave.countDown();
        closer.join(LIMIT_SECONDS * 1000);
        assertTrue(!closer.isAlive(), "close() ends after the handler");
    }

    @Test
    void aHandlerThatThrowsHarmsNobody() throws VerbsException {
        ConnectionIdentifier listener = listener();
        ConnectionIdentifier thrower = closing(loop().manager().createIdentifier((id, event) -> {
            throw new IllegalStateException("thrown on purpose by a test");
        }));
        thrower.resolveAddress(listener.localAddress(), Pair.RESOLVE_MILLIS);
        assertNotNull(client(listener.localAddress()));
    }

    @Test
    void acceptingAPeerThatHasGoneFailsOrDisconnects() throws VerbsException {
        End client = client(listener().localAddress());
        client.identifier.connect(Pair.PARAMETERS);
        ConnectionIdentifier request = closing(requests.await(ConnectRequest.class).identifier());
        ConnectionEvents events = new ConnectionEvents();
        request.handler(events);
        End server = closing(new End(request, events));
        client.close();
        try {
            server.identifier.accept(Pair.ANSWER);
        } catch (VerbsException e) {
            assertTrue(e.getMessage().startsWith("rdma_accept failed"), e::getMessage);
            return;
        }
        ConnectionEvent last = events.await(ConnectionEvent.class);
        while (last instanceof ConnectionEvent.Established) {
            last = events.await(ConnectionEvent.class);
        }
        assertNotNull(last, "an event that ends the connection");
    }

    @Test
    void manyConnectionsShareOneListener() throws VerbsException {
        ConnectionIdentifier listener = listener();
        int count = 20;
        End[] clients = new End[count];
        for (int i = 0; i < count; i++) {
            clients[i] = client(listener.localAddress());
            clients[i].identifier.connect(Pair.PARAMETERS);
        }
        for (int i = 0; i < count; i++) {
            ConnectionIdentifier request = requests.await(ConnectRequest.class).identifier();
            ConnectionEvents events = new ConnectionEvents();
            request.handler(events);
            End server = closing(new End(request, events));
            server.identifier.accept(Pair.ANSWER);
            events.await(ConnectionEvent.Established.class);
        }
        for (End client : clients) {
            client.events.await(ConnectionEvent.Established.class);
        }
    }
}
