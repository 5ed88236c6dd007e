package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;

/** The answers that a client hears to its request for a connection, and when. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class AnswersTest {
    private static final ConnectionParameters PARAMETERS = new ConnectionParameters(new byte[0], 0, 0, 6, 7);
    private static final int TIMEOUT_MILLIS = 10_000;

    private final SharedMemoryProvider provider = new SharedMemoryProvider();
    private ConnectionManager manager;
    private ConnectionIdentifier listener;
    private ConnectionIdentifier client;
    private ProtectionDomain domain;
    private CompletionQueue queue;
    private ConnectionIdentifier request;
    /** The events that the client hears once the way is known. */
    private final List<ConnectionEvent> events = new CopyOnWriteArrayList<>();

    @BeforeEach
    void listen() throws VerbsException {
        manager = provider.createConnectionManager();
        listener = manager.createIdentifier((identifier, event) -> {
            if (event instanceof ConnectionEvent.ConnectRequest arrived) {
                request = arrived.identifier();
            }
        });
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        listener.listen(1);
    }

    @AfterEach
    void close() throws VerbsException {
        client.close();
        domain.close();
        queue.close();
        request.close();
        listener.close();
        manager.close();
    }

    private void connect(boolean atOnce) throws VerbsException {
        client = manager.createIdentifier((identifier, event) -> events.add(event));
        if (atOnce) {
            assertTrue(provider.resolveAtOnce(client, listener.localAddress()));
        } else {
            client.resolveAddress(listener.localAddress(), TIMEOUT_MILLIS);
            client.resolveRoute(TIMEOUT_MILLIS);
        }
        domain = client.device().allocateProtectionDomain();
        queue = client.device().createCompletionQueue(16, null);
        client.createQueuePair(domain, new QueuePairConfig(queue, queue, 4, 4, 1, 1, 0, false));
        manager.drainEvents();
        events.clear();
        client.connect(PARAMETERS);
        manager.drainEvents();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anAnswerComesAtOnceToWhoTakesItSo(boolean atOnce) throws VerbsException {
        connect(atOnce);
        request.reject(new byte[0]);
        assertEquals(atOnce ? 1 : 0, events.size());
        manager.drainEvents();
        assertEquals(1, events.size());
        assertEquals(ConnectionEvent.Rejected.class, events.getFirst().getClass());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whoIsClosedHearsNoAnswer(boolean atOnce) throws VerbsException {
        connect(atOnce);
        client.close();
        request.reject(new byte[0]);
        manager.drainEvents();
        assertEquals(List.of(), events);
    }
}
