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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.FaultDoor;
import org.rdmasockets.internal.connection.AcceptQueue;
import org.rdmasockets.internal.connection.Binding;
import org.rdmasockets.internal.connection.Connection;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.Listener;
import org.rdmasockets.internal.connection.StreamOptions;
import org.rdmasockets.verbs.ConnectionEvent;

/** A process that is slow itself, as one that has just started, does not take that for the silence of its peer. */
class SlowConnectTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0);
    private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Longer than the peer ever takes. */
    private static final long PATIENT_NANOS = TimeUnit.SECONDS.toNanos(10);

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
        engine().prepare(true, ANY_PORT, StreamOptions.DEFAULT);
        Listener listener = Binding.open(engine(), true, ANY_PORT).listener(5, StreamOptions.DEFAULT, accepted);
        resources.push(listener);
        listener.start();
        resources.push(accepted);
        return listener.localAddress();
    }

    /** From now on this thread takes so long to make a queue pair. */
    private void beSlow(long nanos) {
        Thread self = Thread.currentThread();
        verbs.beforeCall(name -> {
            if (name.equals("createQueuePair") && Thread.currentThread() == self) {
                long end = System.nanoTime() + nanos;
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
        beSlow(PATIENT_NANOS);
        connect(server, Long.MAX_VALUE, PATIENT_NANOS);
        beSlow(SILENCE_NANOS);
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
        beSlow(PATIENT_NANOS);
        connect(server, System.nanoTime() + PATIENT_NANOS, Long.MAX_VALUE);
        beSlow(SILENCE_NANOS);
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
        connect(server, Long.MAX_VALUE, PATIENT_NANOS);
    }

    /** The resources of all virtual threads but one are made on the set-up pool, which may have much to do. */
    @Test
    void whoWaitsForTheSetUpPoolLeavesTimeForAnotherWay() throws Exception {
        verbs.behaveAsDevice();
        InetSocketAddress server = listen();
        CountDownLatch mayGoOn = new CountDownLatch(1);
        AtomicInteger making = new AtomicInteger();
        verbs.beforeCall(name -> {
            if (name.equals("createQueuePair")) {
                making.incrementAndGet();
                try {
                    mayGoOn.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
        resources.push(mayGoOn::countDown);
        Thread.startVirtualThread(() -> {
            try {
                connect(server, Long.MAX_VALUE, Long.MAX_VALUE);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        Await.until("a virtual thread makes its resources itself", () -> making.get() == 1);
        long deadline = System.nanoTime() + 6 * PATIENT_NANOS;
        Binding binding = Binding.later(engine(), true, new InetSocketAddress(0));
        FutureTask<SocketTimeoutException> late = new FutureTask<>(() -> assertThrows(SocketTimeoutException.class,
                () -> binding.connect(server, deadline, SILENCE_NANOS, StreamOptions.DEFAULT)));
        Thread.startVirtualThread(late);
        late.get();
        assertTrue(System.nanoTime() - deadline < 0, "nothing is left of the time");
        assertTrue(binding.waitedNanos() >= SILENCE_NANOS, "it counts as a wait");
    }
}
