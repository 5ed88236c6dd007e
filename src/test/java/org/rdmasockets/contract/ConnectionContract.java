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
import org.rdmasockets.far.Holder;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionEvent.Disconnected;
import org.rdmasockets.verbs.ConnectionEvent.Rejected;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;

/** Connecting, refusing and disconnecting. */
abstract class ConnectionContract extends VerbsContract {
    private static final long LIMIT_SECONDS = 30;

    private ConnectionIdentifier identifier() throws VerbsException {
        return closing(loop().manager().createIdentifier(new ConnectionEvents()));
    }

    /** Where an acceptor listens until the end of the test. */
    private InetSocketAddress listening() throws VerbsException {
        return acceptor().ask(a -> a.address());
    }

    /** An end that can connect to the acceptor. */
    private End client(Holder<Acceptor> acceptor) throws VerbsException {
        InetSocketAddress destination = acceptor.ask(a -> a.address());
        return client(destination);
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
        Duo duo = connectDuo();
        InetSocketAddress active = duo.active.identifier.localAddress();
        InetSocketAddress passive = duo.active.identifier.remoteAddress();
        assertEquals(fixture().address(), active.getAddress());
        assertEquals(fixture().address(), passive.getAddress());
        assertTrue(active.getPort() > 0 && passive.getPort() > 0);
        assertEquals(passive, duo.passive.ask(end -> end.identifier.localAddress()));
        assertEquals(active, duo.passive.ask(end -> end.identifier.remoteAddress()));
        duo.close();
        assertEquals(active, duo.active.identifier.localAddress(), "remembered after close");
        assertEquals(passive, duo.active.identifier.remoteAddress(), "remembered after close");
        assertEquals(active, duo.passive.ask(end -> end.identifier.remoteAddress()), "remembered after close");
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
        Holder<Acceptor> acceptor = acceptor();
        Duo duo = closing(new Duo(loop(), acceptor));
        assertStartsWith(Pair.PARAMETERS.privateData(), acceptor.ask(a -> a.privateData()));
        assertStartsWith(Pair.ANSWER.privateData(), duo.answer.parameters().privateData());
    }

    /** Transports may pad with zeros, and do nothing else. */
    private static void assertStartsWith(byte[] expected, byte[] actual) {
        assertTrue(actual.length >= expected.length, () -> "length " + actual.length);
        assertArrayEquals(Arrays.copyOf(expected, actual.length), actual);
    }

    @Test
    void tooMuchPrivateDataIsRefused() throws VerbsException {
        End client = client(listening());
        refused(Errno.EINVAL, "private", () -> client.identifier.connect(
                new ConnectionParameters(new byte[256], 1, 1, 6, 7)));
        if (!iwarp()) {
            refused(Errno.EINVAL, "private", () -> client.identifier.connect(
                    new ConnectionParameters(new byte[57], 1, 1, 6, 7)));
        }
    }

    @Test
    void aRequestCanBeRejectedWithAReason() throws VerbsException {
        Holder<Acceptor> acceptor = acceptor();
        End client = client(acceptor);
        client.identifier.connect(Pair.PARAMETERS);
        acceptor.tell(a -> a.request().reject(new byte[] {9, 8, 7}));
        assertStartsWith(new byte[] {9, 8, 7}, client.events.await(Rejected.class).privateData());
    }

    @Test
    void aRequestThatIsClosedIsRejected() throws VerbsException {
        Holder<Acceptor> acceptor = acceptor();
        End client = client(acceptor);
        client.identifier.connect(Pair.PARAMETERS);
        acceptor.tell(a -> a.request().close());
        client.events.await(Rejected.class);
    }

    @Test
    void aPortWithoutListenerIsRefused() throws VerbsException {
        Holder<Acceptor> acceptor = acceptor();
        InetSocketAddress destination = acceptor.ask(a -> a.address());
        acceptor.tell(a -> a.stopListening());
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
        Duo duo = connectDuo();
        duo.active.identifier.disconnect();
        duo.passive.tell(end -> end.events.await(Disconnected.class));
    }

    @Test
    void closingIsSeenByThePeer() throws VerbsException {
        Duo duo = connectDuo();
        duo.passive.tell(end -> end.close());
        duo.active.events.await(Disconnected.class);
    }

    @Test
    void closingIsSeenByTheEndThatAccepted() throws VerbsException {
        Duo duo = connectDuo();
        duo.active.close();
        duo.passive.tell(end -> end.events.await(Disconnected.class));
    }

    @Test
    void aPortIsTakenOnce() throws VerbsException {
        InetSocketAddress taken = listening();
        ConnectionIdentifier second = identifier();
        refused(Errno.EADDRINUSE, "taken", () -> {
            second.bind(taken);
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
        ConnectionIdentifier client = closing(Pair.resolve(loop(), listening(), new ConnectionEvents()));
        refused(Errno.EINVAL, "queue pair", () -> client.connect(Pair.PARAMETERS));
    }

    @Test
    void anIdentifierHasOneQueuePair() throws VerbsException {
        End client = client(listening());
        refused(Errno.EINVAL, "has a queue pair already",
                () -> client.identifier.createQueuePair(client.domain, End.config(client.queue)));
    }

    @Test
    void aQueuePairNeedsADevice() throws VerbsException {
        End client = client(listening());
        ConnectionIdentifier unbound = identifier();
        refused(Errno.EINVAL, "no device is known yet",
                () -> unbound.createQueuePair(client.domain, End.config(client.queue)));
    }

    /** Keeps the event thread of an acceptor busy, so that no request is delivered before it ends. */
    private static final class Stall {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch ended = new CountDownLatch(1);
        private final ConnectionIdentifier blocker;

        Stall(Acceptor acceptor) throws VerbsException, InterruptedException {
            blocker = acceptor.loop.manager().createIdentifier((id, event) -> {
                begun.countDown();
                awaitQuietly(ended);
            });
            blocker.resolveAddress(acceptor.address(), Pair.RESOLVE_MILLIS);
            assertTrue(begun.await(LIMIT_SECONDS, TimeUnit.SECONDS), "the event thread is in the handler");
        }

        void end() {
            ended.countDown();
            blocker.close();
        }
    }

    @Test
    void aListenerThatClosesRejectsWhatNobodyTook() throws Exception {
        Holder<Acceptor> acceptor = acceptor();
        End client = client(acceptor);
        End second = client(acceptor);
        Holder<Stall> stall = acceptor.make(a -> new Stall(a));
        client.identifier.connect(Pair.PARAMETERS);
        second.identifier.connect(Pair.PARAMETERS);
        acceptor.tell(a -> a.stopListening());
        stall.tell(s -> s.end());
        client.events.await(Rejected.class);
        second.events.await(Rejected.class);
        assertEquals(0, acceptor.ask(a -> a.requests.waiting()).intValue(), "requests delivered by a closed listener");
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
        InetSocketAddress destination = listening();
        ConnectionIdentifier identifier = closing(loop().manager().createIdentifier((id, event) -> {
            inHandler.countDown();
            awaitQuietly(leave);
        }));
        identifier.resolveAddress(destination, Pair.RESOLVE_MILLIS);
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
        InetSocketAddress destination = listening();
        ConnectionIdentifier thrower = closing(loop().manager().createIdentifier((id, event) -> {
            throw new IllegalStateException("thrown on purpose by a test");
        }));
        thrower.resolveAddress(destination, Pair.RESOLVE_MILLIS);
        assertNotNull(client(destination));
    }

    @Test
    void acceptingAPeerThatHasGoneFailsOrDisconnects() throws VerbsException {
        Holder<Acceptor> acceptor = acceptor();
        End client = client(acceptor);
        client.identifier.connect(Pair.PARAMETERS);
        Holder<End> server = acceptor.make(a -> a.prepare());
        closing(() -> server.tell(end -> end.close()));
        client.close();
        server.tell(end -> acceptInVain(end));
    }

    private static void acceptInVain(End server) {
        try {
            server.identifier.accept(Pair.ANSWER);
        } catch (VerbsException e) {
            assertTrue(e.getMessage().startsWith("rdma_accept failed"), e::getMessage);
            return;
        }
        ConnectionEvent last = server.events.await(ConnectionEvent.class);
        while (last instanceof ConnectionEvent.Established) {
            last = server.events.await(ConnectionEvent.class);
        }
        assertNotNull(last, "an event that ends the connection");
    }

    @Test
    void manyConnectionsShareOneListener() throws VerbsException {
        Holder<Acceptor> acceptor = acceptor();
        int count = 20;
        End[] clients = new End[count];
        for (int i = 0; i < count; i++) {
            clients[i] = client(acceptor);
            clients[i].identifier.connect(Pair.PARAMETERS);
        }
        for (int i = 0; i < count; i++) {
            Holder<End> server = acceptor.make(a -> a.accept());
            closing(() -> server.tell(end -> end.close()));
        }
        for (End client : clients) {
            client.events.await(ConnectionEvent.Established.class);
        }
    }
}
