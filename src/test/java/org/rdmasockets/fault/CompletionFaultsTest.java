package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.endpoint.EndpointException;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.Pending;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.FaultDoor;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.QueuePair;

/**
 * Faults of the completion queues of devices, which memory never has, seen by sockets and endpoints: they say nothing
 * of a peer's death, as those of RoCE; they tell data and the end of everything at once; they lag behind.
 */
class CompletionFaultsTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0);
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private volatile boolean disconnectsAreTold = true;
    private final FaultDoor door = new FaultDoor(false);
    private final WatchedVerbs verbs = new WatchedVerbs(door.provider(),
            event -> !(event instanceof ConnectionEvent.Disconnected) || disconnectsAreTold);
    private final Deque<AutoCloseable> resources = new ArrayDeque<>(List.of(new Replacement(verbs.provider())));

    /** Connected sockets. */
    private record Sockets(RdmaSocket client, RdmaSocket server) {
    }

    /** Connected endpoints. */
    private record Endpoints(RdmaEndpoint client, RdmaEndpoint server) {
    }

    @AfterEach
    void closeAll() throws Exception {
        door.deliver(false);
        while (!resources.isEmpty()) {
            resources.pop().close();
        }
    }

    private <T extends AutoCloseable> T closing(T resource) {
        resources.push(resource);
        return resource;
    }

    private Sockets sockets(int sendQueue) throws IOException {
        RdmaServerSocket listener = closing(new RdmaServerSocket());
        listener.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY).bind(ANY_PORT);
        RdmaSocket client = closing(new RdmaSocket());
        client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY)
                .setOption(RdmaSocketOptions.RDMA_SQSIZE, sendQueue).connect(listener.getLocalSocketAddress());
        return new Sockets(client, closing(listener.accept()));
    }

    private Endpoints endpoints(int sendQueue) throws IOException {
        RdmaEndpointServer listener = closing(RdmaEndpoint.builder().device(FaultDoor.device()).listen(ANY_PORT));
        RdmaEndpoint client = closing(RdmaEndpoint.builder().device(FaultDoor.device()).sendQueue(sendQueue)
                .connect(listener.localAddress()));
        return new Endpoints(client, closing(listener.accept(PATIENCE)));
    }

    private QueuePair clients() {
        return verbs.queuePairs().getFirst();
    }

    private QueuePair servers() {
        return verbs.queuePairs().getLast();
    }

    @Test
    void aDeathThatNoCompletionTellsOfWakesAParkedReader() throws Exception {
        Sockets ends = sockets(64);
        Call<Integer> read = Call.start(ThreadKind.VIRTUAL, "read", () -> ends.server().getInputStream().read())
                .awaitBlocked();
        door.keepCompletions(servers());
        ends.client().setSoLinger(true, 0);
        ends.client().close();
        assertEquals("Connection reset", read.failure(SocketException.class).getMessage());
    }

    /** A queue pair that fails is as good as a process that dies: it says nothing to its peer. */
    @Test
    void aDeathThatNoCompletionTellsOfWakesAParkedReceiver() throws Exception {
        Endpoints ends = endpoints(64);
        Call<Message> receive = Call.start(ThreadKind.VIRTUAL, "receive", () -> ends.server().receive())
                .awaitBlocked();
        door.keepCompletions(servers());
        clients().fail();
        ends.client().close();
        assertEquals(EndpointException.Reason.PEER_GONE, receive.failure(EndpointException.class).reason());
    }

    @Test
    void whatComesInOneBatchWithAFlushIsRead() throws Exception {
        disconnectsAreTold = false;
        Sockets ends = sockets(64);
        door.keepCompletions(servers());
        for (int i = 0; i < 5; i++) {
            ends.client().getOutputStream().write(i);
        }
        ends.client().setSoLinger(true, 0);
        ends.client().close();
        servers().fail();
        int told = door.deliver(false);
        assertTrue(told > 5, () -> "five messages and what is flushed, not " + told);
        InputStream in = ends.server().getInputStream();
        assertArrayEquals(new byte[] {0, 1, 2, 3, 4}, in.readNBytes(5));
        assertEquals("Connection reset", assertThrows(SocketException.class, in::read).getMessage());
    }

    @Test
    void whatComesInOneBatchWithAFlushIsReceived() throws Exception {
        disconnectsAreTold = false;
        Endpoints ends = endpoints(64);
        door.keepCompletions(servers());
        for (int i = 1; i <= 5; i++) {
            ends.client().send(ends.client().allocate(i));
        }
        servers().fail();
        int told = door.deliver(false);
        assertTrue(told > 5, () -> "five messages and what is flushed, not " + told);
        for (int i = 1; i <= 5; i++) {
            assertEquals(i, ends.server().receive(PATIENCE).length());
        }
        assertEquals(EndpointException.Reason.PEER_GONE,
                assertThrows(EndpointException.class, () -> ends.server().receive(PATIENCE)).reason());
    }

    @Test
    void aSocketDoesNotOverrunASendQueueWhoseCompletionsLag() throws Exception {
        Sockets ends = sockets(16);
        door.keepCompletions(clients());
        byte[] sent = new byte[512];
        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
            for (int i = 0; i < sent.length; i++) {
                sent[i] = (byte) i;
                ends.client().getOutputStream().write(i);
            }
        }).awaitBlocked();
        Call<byte[]> read = Call.start(ThreadKind.VIRTUAL, "read",
                () -> ends.server().getInputStream().readNBytes(sent.length));
        door.deliver(false);
        write.result();
        assertArrayEquals(sent, read.result());
    }

    @Test
    void anEndpointDoesNotOverrunASendQueueWhoseCompletionsLag() throws Exception {
        Endpoints ends = endpoints(16);
        door.keepCompletions(clients());
        List<Pending<Void>> writes = new ArrayList<>();
        LocalRegion there = ends.server().allocate(8, 8, Set.of(AccessFlag.REMOTE_WRITE));
        for (int i = 0; i < 512; i++) {
            writes.add(ends.client().startWrite(ends.client().allocate(8), there.remote()));
        }
        assertTrue(writes.stream().noneMatch(Pending::isDone));
        door.deliver(false);
        for (Pending<Void> write : writes) {
            write.await(PATIENCE);
        }
    }

    /** The request completes, although the post has ended in an Error: its slot is still taken. */
    @Test
    void anErrorOutOfAPostCostsItsEndpointAndTheCompletionFindsItsSlot() throws Exception {
        Endpoints ends = endpoints(16);
        QueuePair client = clients();
        door.keepCompletions(client);
        AtomicBoolean thrown = new AtomicBoolean();
        verbs.afterPost(queuePair -> {
            if (queuePair == client && !thrown.getAndSet(true)) {
                throw new OutOfMemoryError("of a test");
            }
        });
        LocalRegion memory = ends.client().allocate(8);
        assertThrows(OutOfMemoryError.class, () -> ends.client().send(memory));
        door.deliver(false);
        assertThrows(EndpointException.class, () -> ends.client().send(ends.client().allocate(8)));
        assertThrows(EndpointException.class, () -> {
            ends.server().receive(PATIENCE); // it has come, and then the end
            ends.server().receive(PATIENCE);
        });
        Endpoints others = endpoints(16);
        others.client().send(others.client().allocate(8));
        assertEquals(8, others.server().receive(PATIENCE).length());
    }
}
