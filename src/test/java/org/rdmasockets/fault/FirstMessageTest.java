package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.FaultDoor;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.SendRequest;

/** A peer's kernel over soft-iWARP may leave the first message where it is until more comes. So more does. */
class FirstMessageTest {
    private static final int TIMEOUT_MILLIS = 60_000;
    /** Ticks in which a sign of life would come, if one was still to come. */
    private static final int TICKS = 4;

    private final FaultDoor door = new FaultDoor(false);
    private final WatchedVerbs verbs = new WatchedVerbs(door.provider(), event -> true);
    private final Replacement replacement = new Replacement(verbs.provider());
    /** Signs of life that a queue pair has asked for: writes of nothing. */
    private final Map<QueuePair, AtomicInteger> asked = new ConcurrentHashMap<>();
    private RdmaServerSocket server;
    /** Whether those who connect hear nothing of their peers. */
    private volatile boolean deaf;

    @BeforeEach
    void watch() {
        verbs.beforeCall(name -> {
            if (deaf && name.equals("connect")) {
                door.hideReceives(verbs.queuePairs().getLast(), true);
            }
        });
        verbs.beforePost((queuePair, request) -> {
            if (request.opcode() == SendRequest.Opcode.WRITE
                    && request.elements().totalBytes() + request.bytesLength() == 0) {
                asked.computeIfAbsent(queuePair, q -> new AtomicInteger()).incrementAndGet();
            }
        });
    }

    @AfterEach
    void restore() throws IOException {
        server.close();
        replacement.close();
    }

    private void serve() throws IOException {
        server = new RdmaServerSocket();
        server.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0));
    }

    /** Both ends, and their queue pairs. */
    private record Two(RdmaSocket client, Socket accepted, QueuePair active, QueuePair passive)
            implements AutoCloseable {
        @Override
        public void close() throws IOException {
            client.close();
            accepted.close();
        }
    }

    private Two connect() throws IOException {
        int before = verbs.queuePairs().size();
        RdmaSocket client = new RdmaSocket();
        client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        client.connect(server.getLocalSocketAddress(), TIMEOUT_MILLIS);
        return new Two(client, server.accept(), verbs.queuePairs().get(before), verbs.queuePairs().get(before + 1));
    }

    private int asked(QueuePair queuePair) {
        AtomicInteger count = asked.get(queuePair);
        return count == null ? 0 : count.get();
    }

    private void awaitQuestion(QueuePair queuePair) throws Exception {
        Await.until("a sign of life is asked for", () -> asked(queuePair) > 0);
    }

    /** Each of these connections asks at its first tick. */
    private void awaitTicks() throws Exception {
        deaf = true;
        for (int i = 0; i < TICKS; i++) {
            try (Two clock = connect()) {
                awaitQuestion(clock.active);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoHasConnectedAsksAPeerThatSaysNothing(boolean writes) throws Exception {
        verbs.behaveAsIwarp();
        serve();
        deaf = true;
        try (Two two = connect()) {
            if (writes) {
                two.client.getOutputStream().write(7);
            }
            awaitQuestion(two.active);
            assertEquals(0, asked(two.passive), "who has accepted leaves it to the other");
            two.client.getOutputStream().write(8);
            assertEquals(writes ? 7 : 8, two.accepted.getInputStream().read());
        }
    }

    @Test
    void whoHasHeardThePeerAsksNoMore() throws Exception {
        verbs.behaveAsIwarp();
        serve();
        try (Two two = connect()) {
            two.client.getOutputStream().write(1);
            assertEquals(1, two.accepted.getInputStream().read());
            two.accepted.getOutputStream().write(2);
            assertEquals(2, two.client.getInputStream().read());
            int before = asked(two.active);
            awaitTicks();
            int since = asked(two.active) - before;
            assertTrue(since <= 1, () -> "asked " + since + " times more, though one question may have been under way");
        }
    }

    @Test
    void whereACompletionIsDeliveryNobodyAsks() throws Exception {
        verbs.behaveAsDevice();
        serve();
        RdmaServerSocket plain = server;
        try (Two two = connect()) {
            verbs.behaveAsIwarp();
            serve();
            awaitTicks();
            assertEquals(0, asked(two.active));
        } finally {
            plain.close();
        }
    }
}
