package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.provider.sharedmemory.FaultDoor;
import org.rdmasockets.transport.AcceptQueue;
import org.rdmasockets.transport.Binding;
import org.rdmasockets.transport.Connection;
import org.rdmasockets.transport.Engine;
import org.rdmasockets.transport.StreamListener;
import org.rdmasockets.transport.StreamOptions;
import org.rdmasockets.verbs.ConnectionEvent;

/** A process that is slow itself, as one that has just started, does not take that for the silence of its peer. */
class SlowConnectTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0);
    private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private volatile boolean silent;
    private final WatchedVerbs verbs = new WatchedVerbs(new FaultDoor(false).provider(),
            event -> !(silent && event instanceof ConnectionEvent.Established));
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();
    private final AcceptQueue<Connection> accepted = new AcceptQueue<>(connection -> connection.close(0));

    @AfterEach
    void closeAll() throws Exception {
        while (!resources.isEmpty()) {
            resources.pop().close();
        }
    }

    private Engine engine() throws IOException {
        return Engine.of(verbs.provider());
    }

    private InetSocketAddress listen() throws IOException {
        engine().prepare();
        StreamListener listener = new StreamListener(Binding.open(engine(), true, ANY_PORT), 5, StreamOptions.DEFAULT,
                accepted);
        resources.push(listener);
        listener.start();
        resources.push(accepted);
        return listener.localAddress();
    }

    /** From now on this thread takes longer to make a queue pair than a silent peer is waited for. */
    private void beSlow() {
        Thread self = Thread.currentThread();
        verbs.beforeCall(name -> {
            if (name.equals("createQueuePair") && Thread.currentThread() == self) {
                long end = System.nanoTime() + SILENCE_NANOS;
                while (System.nanoTime() - end < 0) {
                    LockSupport.parkNanos(end - System.nanoTime());
                }
            }
        });
    }

    private void connect(InetSocketAddress to, long deadlineNanos, long silenceNanos) throws IOException {
        Connection connection = Binding.later(engine(), true, new InetSocketAddress(0))
                .connect(to, deadlineNanos, silenceNanos, StreamOptions.DEFAULT);
        resources.push(() -> connection.close(0));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aPeerIsSilentOnlyWhileItIsWaitedFor(boolean device) throws Exception {
        InetSocketAddress server = listen();
        if (device) {
            verbs.behaveAsDevice();
        }
        assertTrue(engine().isPractised());
        beSlow();
        connect(server, Long.MAX_VALUE, SILENCE_NANOS);
        assertThrows(SocketTimeoutException.class, () -> connect(server, System.nanoTime() + SILENCE_NANOS,
                Long.MAX_VALUE), "the caller's own time holds for all");
        silent = true;
        Binding binding = Binding.later(engine(), true, new InetSocketAddress(0));
        assertThrows(SocketTimeoutException.class,
                () -> binding.connect(server, Long.MAX_VALUE, SILENCE_NANOS, StreamOptions.DEFAULT));
        assertTrue(binding.waitedNanos() >= SILENCE_NANOS);
    }

    /** Where nothing can be rehearsed, the first connection of a client loads what it needs. */
    @Test
    void theFirstConnectHasItsTimeBesideThatOfLoading() throws Exception {
        verbs.rehearseNothing();
        InetSocketAddress server = listen(); // calls do not block there, and then nothing is practised
        assertFalse(engine().isPractised());
        beSlow();
        connect(server, System.nanoTime() + SILENCE_NANOS, Long.MAX_VALUE);
        assertThrows(SocketTimeoutException.class,
                () -> connect(server, System.nanoTime() + SILENCE_NANOS, Long.MAX_VALUE), "the second one has not");
    }

    /** Before its first client comes, a server makes once what a connection needs, and frees it. */
    @Test
    void whoListensOnADevicePractises() throws Exception {
        verbs.behaveAsDevice();
        verbs.rehearseNothing();
        engine().prepare();
        assertFalse(engine().isPractised());
        int before = verbs.openIdentifiers();
        InetSocketAddress server = listen();
        assertTrue(engine().isPractised());
        assertEquals(1, verbs.queuePairs().size());
        Await.until("what was made is closed, but for the listener", () -> verbs.openIdentifiers() == before + 1);
        connect(server, Long.MAX_VALUE, SILENCE_NANOS);
    }
}
