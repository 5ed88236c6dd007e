package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.interop.Program;
import org.rdmasockets.verbs.Capability;

/** A peer in another process, and its death. */
abstract class EndpointProcessContract extends EndpointContract {
    /** A JVM on an emulated machine takes its time. */
    private static final Duration START = Duration.ofMinutes(4);

    private Program peer() throws Exception {
        return closing(Program.java(PeerMain.class.getName(), fixture().device(),
                fixture().address().getHostAddress()));
    }

    private RdmaEndpoint connect(Program peer, int port) throws Exception {
        return closing(builder().connect(fixture().address().getHostAddress(), port));
    }

    @Test
    void messagesMemoryAndLeasesBetweenProcesses() throws Exception {
        Program peer = peer();
        RdmaEndpoint endpoint = connect(peer, Integer.parseInt(peer.awaitLine("listening")));
        for (int size : new int[] {1, 969, 200_000}) {
            Pending<Void> send = endpoint.startSend(filled(endpoint, size, size));
            assertArrayEquals(random(size, size), endpoint.receive(PATIENCE).toArray());
            send.await(PATIENCE);
        }
        RemoteLease lease = endpoint.requestRemote(10_000);
        LocalRegion back = endpoint.allocate(10_000);
        endpoint.write(filled(endpoint, 10_000, 1), lease.region());
        endpoint.read(back, lease.region());
        assertArrayEquals(random(10_000, 1), bytes(back));
        if (endpoint.supports(Capability.ATOMICS)) {
            RemoteLease word = endpoint.requestRemote(8);
            assertEquals(0, endpoint.fetchAndAdd(word.region(), 5));
            assertEquals(5, endpoint.compareAndSwap(word.region(), 5, 6));
        }
        RemoteLease shared = endpoint.receiveShared(PATIENCE);
        assertEquals(PeerMain.SHARED_BYTES, shared.region().length());
        endpoint.write(filled(endpoint, PeerMain.SHARED_BYTES, 2), shared.region());
        endpoint.handOver(shared);
        assertArrayEquals(random(PeerMain.SHARED_BYTES, 2), endpoint.receive(PATIENCE).toArray());
    }

    /** It gets what was sent, and then the end in order, as after a close. */
    @ParameterizedTest
    @ValueSource(strings = {"returns", "exits", "talksInHook", "closesInHook"})
    void thePeerOfAProcessThatEndsGetsAllAndThenTheEnd(String way) throws Exception {
        RdmaEndpointServer server = closing(builder().listen(anyPort()));
        Program child = closing(Program.java(LeaverMain.class.getName(), way, fixture().device(),
                fixture().address().getHostAddress(), Integer.toString(server.localAddress().getPort())));
        RdmaEndpoint end = closing(server.accept(START));
        boolean talks = way.equals("talksInHook");
        if (!talks) {
            assertEquals(0, child.awaitEnd(), child::output);
        }
        for (int i = 0; i < LeaverMain.MESSAGES; i++) {
            try (Message message = end.receive(PATIENCE)) {
                assertEquals(i, message.immediate().orElseThrow());
                assertEquals(LeaverMain.BYTES, message.length());
            }
            if (talks) {
                end.sendImmediate(i);
            }
        }
        refused(EndpointException.Reason.PEER_CLOSED, "the peer has closed its end", () -> end.receive(PATIENCE));
        assertEquals(0, child.awaitEnd(), child::output);
        assertFalse(child.output().contains("failed"), child::output);
    }

    /** async-rdma never notices a peer's death; parity, traps: peer dies while parked. */
    @Test
    void aKilledPeerFailsEverybodyWhoWaits() throws Exception {
        Program peer = peer();
        int port = Integer.parseInt(peer.awaitLine("listening"));
        RdmaEndpoint waiting = connect(peer, port);
        RdmaEndpoint idle = connect(peer, port);
        waiting.receiveShared(PATIENCE);
        waiting.sendImmediate(0);
        LocalRegion region = waiting.allocate(20_000);
        List<Call<Object>> calls = new ArrayList<>();
        calls.add(start("receive", waiting::receive));
        calls.add(start("receiveImmediate", waiting::receiveImmediate));
        calls.add(start("receiveShared", waiting::receiveShared));
        calls.add(start("receiveHandedOver", waiting::receiveHandedOver));
        calls.add(start("send without credit", () -> {
            waiting.send(region);
            return null;
        }));
        for (Call<Object> call : calls) {
            call.awaitBlocked();
        }
        peer.kill();
        for (Call<Object> call : calls) {
            EndpointException e = call.failure(EndpointException.class);
            assertTrue(List.of(EndpointException.Reason.PEER_GONE, EndpointException.Reason.DEVICE)
                    .contains(e.reason()), e::getMessage);
        }
        Await.until("the memory is free", region::isWritable);
        EndpointException e = start("receive of the idle one", idle::receive).failure(EndpointException.class);
        assertTrue(e.reason() != EndpointException.Reason.CLOSED, e::getMessage);
        waiting.close();
        Pair others = connect(); // and this process goes on
        others.client().send(others.client().allocate(3));
        assertEquals(3, others.server().receive(PATIENCE).length());
    }
}
