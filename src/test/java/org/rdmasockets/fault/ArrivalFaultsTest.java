package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.FaultDoor;
import org.rdmasockets.internal.connection.AcceptQueue;
import org.rdmasockets.internal.connection.Binding;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.Protocol;
import org.rdmasockets.internal.connection.StreamOptions;
import org.rdmasockets.internal.connection.StreamTransport;
import org.rdmasockets.internal.connection.VerbsConnection;
import org.rdmasockets.internal.connection.VerbsListener;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionParameters;

/**
 * A throwable that is thrown while a connection arrives costs that connection and no place in the backlog, and so does
 * a peer that does not finish its handshake. No thread accepts here: each connect needs a place.
 */
class ArrivalFaultsTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0);
    private static final int BACKLOG = 3;
    private static final int TIMEOUT_MILLIS = 60_000;
    private static final List<Supplier<Throwable>> THROWN = List.of(() -> new OutOfMemoryError("thrown by a test"),
            () -> new StackOverflowError("thrown by a test"), () -> new NoClassDefFoundError("thrown by a test"),
            () -> new IllegalStateException("thrown by a test"));

    /** Where something is thrown, in the order in which an arrival comes by. */
    private enum Step {
        /** The listener takes the request. */
        REQUEST,
        /** The connection is made. */
        MAKE,
        /** Its needs are made. */
        ALLOCATE,
        /** The stream is asked for the parameters of the answer. */
        PARAMETERS,
        /** The request is accepted. */
        ACCEPT,
        /** The poller hears that the connection is established. */
        ESTABLISHED,
        /** The connection starts. */
        START
    }

    private volatile Step faulty;
    private final AtomicInteger faults = new AtomicInteger();
    private final AtomicInteger lost = new AtomicInteger();
    /** Calls of a request's handler since the fault before; the second one is that of the established connection. */
    private final AtomicInteger handlers = new AtomicInteger();
    private final WatchedVerbs verbs = new WatchedVerbs(new FaultDoor(false).provider(), this::isTold);
    private final Deque<AutoCloseable> resources = new ArrayDeque<>(List.of(new Replacement(verbs.provider())));
    private VerbsListener<Protocol> listener;
    private final AcceptQueue<Protocol> accepted =
            new AcceptQueue<>(protocol -> protocol.connection().abort());

    @AfterEach
    void closeAll() throws Exception {
        while (!resources.isEmpty()) {
            resources.pop().close();
        }
    }

    private <T extends AutoCloseable> T closing(T resource) {
        resources.push(resource);
        return resource;
    }

    /** Throws at the step in question, something else each time. */
    private void pass(Step step) {
        if (faulty == step) {
            Throwable thrown = THROWN.get(faults.getAndIncrement() % THROWN.size()).get();
            switch (thrown) {
                case Error error -> throw error;
                case RuntimeException exception -> throw exception;
                default -> throw new AssertionError(thrown);
            }
        }
    }

    private void onRequestCall(String name) {
        if (name.equals("handler")) {
            pass(Step.REQUEST);
            if (faulty == Step.ESTABLISHED && handlers.incrementAndGet() % 2 == 0) {
                pass(Step.ESTABLISHED);
            }
        } else if (name.equals("accept")) {
            pass(Step.ACCEPT);
        }
    }

    /** Of one connection the listening end hears first that it is established. */
    private boolean isTold(ConnectionEvent event) {
        return !(event instanceof ConnectionEvent.Established) || lost.getAndUpdate(n -> n == 0 ? 0 : n - 1) % 2 == 0;
    }

    /** Makes streams that are as faulty as they shall be. */
    private final class FaultyMaker implements Protocol.Maker<Protocol> {
        private final StreamOptions target = StreamOptions.DEFAULT;

        @Override
        public Protocol make(VerbsConnection connection, ConnectionParameters asked) throws IOException {
            pass(Step.MAKE);
            StreamTransport stream = target.make(connection, asked);
            return (Protocol) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Protocol.class},
                    (proxy, method, arguments) -> call(stream, method, arguments));
        }

        private Object call(StreamTransport stream, Method method, Object[] arguments) throws Throwable {
            if (method.getName().equals("allocate")) {
                pass(Step.ALLOCATE);
            } else if (method.getName().equals("parameters")) {
                pass(Step.PARAMETERS);
            } else if (method.getName().equals("start")) {
                pass(Step.START);
            }
            try {
                return method.invoke(stream, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }
    }

    private InetSocketAddress listen() throws IOException {
        listener = closing(Binding.open(Engine.of(verbs.provider()), true, ANY_PORT)
                .listener(BACKLOG, new FaultyMaker(), accepted));
        listener.start();
        closing(accepted);
        verbs.onRequestCall(this::onRequestCall);
        verbs.answerInTurn();
        return listener.localAddress();
    }

    private RdmaSocket connected(InetSocketAddress to) throws IOException {
        RdmaSocket socket = closing(new RdmaSocket());
        socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY).connect(to, TIMEOUT_MILLIS);
        return socket;
    }

    /** As many clients as the backlog takes connect before any is accepted, and are accepted then. */
    private void assertAllPlacesFree(InetSocketAddress to) throws IOException {
        List<RdmaSocket> clients = new ArrayList<>();
        for (int i = 0; i < BACKLOG; i++) {
            clients.add(connected(to));
        }
        for (RdmaSocket client : clients) {
            VerbsConnection server = accepted.accept(
                    System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS)).connection();
            closing(server::abort);
            assertEquals(client.getLocalPort(), server.remoteAddress().getPort());
        }
    }

    @ParameterizedTest
    @EnumSource(Step.class)
    void whateverIsThrownCostsOneArrivalAndNoPlace(Step step) throws Exception {
        InetSocketAddress server = listen();
        int before = verbs.openIdentifiers();
        for (int i = 0; i < 2 * BACKLOG + THROWN.size(); i++) {
            faulty = step;
            handlers.set(0);
            int thrown = faults.get();
            RdmaSocket client = closing(new RdmaSocket());
            try {
                client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY).connect(server, TIMEOUT_MILLIS);
            } catch (IOException e) {
                assertFalse(e.getMessage().contains("timed out"), e::toString);
            }
            Await.until("a fault", () -> faults.get() > thrown);
            faulty = null;
        }
        assertAllPlacesFree(server);
        closeAll();
        Await.until("all of them to be closed", () -> verbs.openIdentifiers() < before);
    }

    @Test
    void aListenerThatClosesSaysNothingOfItsBacklog() throws Exception {
        InetSocketAddress server = listen();
        verbs.onRequestCall(name -> listener.close()); // while it takes the request
        String said = assertThrows(ConnectException.class, () -> connected(server)).getMessage();
        assertTrue(said.contains("refused") && !said.contains("backlog"), said);
    }

    /** As with a peer that asks for a connection and never answers the answer. */
    @Test
    void handshakesThatAreNeverFinishedKeepNobodyOut() throws Exception {
        InetSocketAddress server = listen();
        for (int i = 0; i < BACKLOG; i++) {
            lost.set(1); // the listener's; the client's own comes after it
            connected(server);
        }
        assertAllPlacesFree(server);
    }
}
