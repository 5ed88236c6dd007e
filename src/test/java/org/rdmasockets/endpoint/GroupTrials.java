package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Call;

/** Scopes, groups, ranked nodes and their barriers. */
abstract class GroupTrials extends EndpointTrial {
    /** A server with clients that share their memory, and the other ends in the same order. */
    private record Star(RdmaGroup group, List<RdmaEndpoint> others) {
    }

    private Star star(int size) throws Exception {
        List<RdmaEndpoint> members = new ArrayList<>();
        List<RdmaEndpoint> others = new ArrayList<>();
        RdmaEndpointServer server = closing(builder().receiveBuffers(4, 512).listen(anyPort()));
        RdmaEndpointBuilder sharing = builder().sharedProtectionDomain();
        for (int i = 0; i < size; i++) {
            members.add(closing(sharing.connect(server.localAddress())));
            others.add(closing(server.accept(PATIENCE)));
        }
        return new Star(new RdmaGroup(members), others);
    }

    /** ibverbs-rs: a scope joins everything, also when its block throws. */
    @Test
    void aScopeJoinsEverythingAlsoWhenItsBlockThrows() throws Exception {
        Pair pair = connect();
        LocalRegion there = open(pair.server(), 100_000);
        List<Pending<Void>> begun = new ArrayList<>();
        IllegalStateException thrown = assertThrows(IllegalStateException.class, () -> {
            try (OperationScope scope = new OperationScope()) {
                for (int i = 0; i < 10; i++) {
                    begun.add(scope.add(pair.client().startWrite(filled(pair.client(), 100_000, i),
                            there.remote())));
                }
                throw new IllegalStateException("the block fails");
            }
        });
        assertEquals(0, thrown.getSuppressed().length);
        assertTrue(begun.stream().allMatch(Pending::hasEnded));
        assertArrayEquals(random(100_000, 9), bytes(there));
    }

    @Test
    void aScopeTellsTheFirstFailureAndJoinsTheRest() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(2, 512));
        OperationScope scope = new OperationScope();
        for (int i = 0; i < 5; i++) {
            scope.add(pair.client().startSend(pair.client().allocate(600)));
        }
        pair.client().close();
        EndpointException e = assertThrows(EndpointException.class, scope::close);
        assertEquals(EndpointException.Reason.CLOSED, e.reason());
        assertTrue(e.getSuppressed().length >= 1, "the others are suppressed");
        scope.close(); // nothing is left
    }

    @Test
    void anInterruptDoesNotShortenAScope() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(2, 512));
        Call<Void> call = run("scope", () -> {
            try (OperationScope scope = new OperationScope()) {
                scope.add(pair.client().startSend(pair.client().allocate(5000)));
            }
        }).awaitBlocked();
        call.interrupt();
        assertEquals(5000, pair.server().receive(PATIENCE).length());
        call.result();
        assertTrue(call.interruptedAtEnd());
    }

    /** ibverbs-rs: scatter, gather and multicast by messages. */
    @Test
    void messagesAreScatteredGatheredAndMulticast() throws Exception {
        Star star = star(3);
        List<LocalRegion> parts = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            parts.add(filled(star.group().member(i), 100 + i, i));
        }
        star.group().scatter(parts);
        star.group().multicast(parts.get(2));
        for (int i = 0; i < 3; i++) {
            assertArrayEquals(random(100 + i, i), star.others().get(i).receive(PATIENCE).toArray());
            assertArrayEquals(random(102, 2), star.others().get(i).receive(PATIENCE).toArray());
            star.others().get(i).send(filled(star.others().get(i), 50, 40 + i));
        }
        List<Message> gathered = star.group().gather(PATIENCE);
        for (int i = 0; i < 3; i++) {
            assertArrayEquals(random(50, 40 + i), gathered.get(i).toArray());
        }
        assertThrows(SocketTimeoutException.class, () -> star.group().gather(Duration.ofMillis(20)));
    }

    /** ibverbs-rs: scatter by write, gather by read. */
    @Test
    void memoryIsScatteredAndGathered() throws Exception {
        Star star = star(3);
        List<LocalRegion> here = new ArrayList<>();
        List<LocalRegion> there = new ArrayList<>();
        List<RemoteRegion> remote = new ArrayList<>();
        LocalRegion whole = filled(star.group().member(0), 300, 1);
        LocalRegion back = star.group().member(0).allocate(300);
        List<LocalRegion> backParts = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            here.add(whole.slice(100L * i, 100));
            backParts.add(back.slice(100L * i, 100));
            there.add(open(star.others().get(i), 100));
            remote.add(there.get(i).remote());
        }
        star.group().scatter(here, remote);
        star.group().gather(backParts, remote);
        assertArrayEquals(random(300, 1), bytes(back));
    }

    /** ibverbs-rs: unknown peers and counts that do not match. */
    @Test
    void groupsRefuseWhatDoesNotFit() throws Exception {
        Star star = star(2);
        assertEquals(2, star.group().size());
        assertThrows(IndexOutOfBoundsException.class, () -> star.group().member(2));
        assertThrows(IllegalArgumentException.class, () -> star.group().scatter(List.of()));
        assertThrows(IllegalArgumentException.class, () -> new RdmaGroup(List.of()));
        RdmaEndpoint stranger = connect().client();
        assertThrows(IllegalArgumentException.class, () -> star.group().multicast(stranger.allocate(8)));
    }

    private List<RdmaNode> join(int size) throws Exception {
        return join(size, this::builder);
    }

    private List<RdmaNode> join(int size, Supplier<RdmaEndpointBuilder> builder) throws Exception {
        List<InetSocketAddress> nodes = TcpExchangeTest.freeAddresses(size);
        List<Call<RdmaNode>> calls = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            int rank = i;
            calls.add(start("join " + rank,
                    () -> RdmaNode.join(builder.get(), fixture().address(), nodes, rank, PATIENCE)));
        }
        List<RdmaNode> joined = new ArrayList<>();
        for (Call<RdmaNode> call : calls) {
            joined.add(closing(call.result()));
        }
        return joined;
    }

    /** ibverbs-rs: ranks, and a barrier of each algorithm for all and for some. */
    @Test
    void nobodyPassesABarrierBeforeAllHaveCome() throws Exception {
        List<RdmaNode> nodes = join(5);
        for (BarrierKind kind : BarrierKind.values()) {
            for (List<Integer> ranks : List.of(List.of(0, 1, 2, 3, 4), List.of(1, 2, 4), List.of(3))) {
                AtomicInteger arrived = new AtomicInteger();
                List<Call<Void>> calls = new ArrayList<>();
                for (int rank : ranks) {
                    calls.add(run("barrier of " + rank, () -> {
                        for (int round = 1; round <= 10; round++) {
                            arrived.incrementAndGet();
                            nodes.get(rank).barrier(kind, ranks, PATIENCE);
                            int seen = arrived.get();
                            assertTrue(seen >= round * ranks.size(), () -> kind + " let pass after " + seen);
                            nodes.get(rank).barrier(kind, ranks, PATIENCE);
                        }
                    }));
                }
                for (Call<Void> call : calls) {
                    call.result();
                }
            }
        }
    }

    /** A barrier does not wait for messages that the other will receive after it. */
    @Test
    void unreceivedMessagesDoNotHoldUpABarrier() throws Exception {
        List<RdmaNode> nodes = join(2, () -> builder().receiveBuffers(2, 512));
        Pending<Void> waiting = nodes.get(0).peer(1).startSend(nodes.get(0).peer(1).allocate(5000));
        Call<Void> other = run("barrier of 1", () -> nodes.get(1).barrier(Duration.ofSeconds(10)));
        Call<Void> own = run("barrier of 0", () -> nodes.get(0).barrier(Duration.ofSeconds(10)));
        own.result();
        other.result();
        assertEquals(5000, nodes.get(1).peer(0).receive(PATIENCE).length());
        waiting.await(PATIENCE);
    }

    @Test
    void nodesTalkAndFormGroups() throws Exception {
        List<RdmaNode> nodes = join(3);
        for (int i = 0; i < 3; i++) {
            assertEquals(i, nodes.get(i).rank());
            assertEquals(3, nodes.get(i).size());
        }
        LocalRegion region = filled(nodes.get(1).peer(0), 64, 1);
        nodes.get(1).others().multicast(region);
        assertArrayEquals(random(64, 1), nodes.get(0).peer(1).receive(PATIENCE).toArray());
        assertArrayEquals(random(64, 1), nodes.get(2).peer(1).receive(PATIENCE).toArray());
        assertThrows(IllegalArgumentException.class, () -> nodes.get(1).peer(1));
        assertThrows(IllegalArgumentException.class, () -> nodes.get(1).peer(3));
        assertThrows(IllegalArgumentException.class, () -> nodes.get(1).peer(-1));
    }

    /** ibverbs-rs: validation of the list of peers. */
    @Test
    void listsOfRanksAreChecked() throws Exception {
        RdmaNode node = join(2).getFirst();
        for (List<Integer> bad : List.of(List.of(1), List.of(1, 0), List.of(0, 0), List.of(0, 2), List.of(-1, 0),
                List.<Integer>of())) {
            assertThrows(IllegalArgumentException.class,
                    () -> node.barrier(BarrierKind.CENTRAL, bad, PATIENCE), bad::toString);
        }
        node.barrier(BarrierKind.CENTRAL, List.of(0), PATIENCE); // and nothing is poisoned
    }

    /** ibverbs-rs: a barrier that times out is poisoned for ever. */
    @Test
    void aBarrierThatFailsIsPoisoned() throws Exception {
        List<RdmaNode> nodes = join(2);
        assertThrows(SocketTimeoutException.class, () -> nodes.get(0).barrier(Duration.ofMillis(50)));
        refused(EndpointException.Reason.POISONED, "barrier 1 failed", () -> nodes.get(0).barrier(PATIENCE));
    }

    @Test
    void aNodeThatLeavesFailsTheBarrier() throws Exception {
        List<RdmaNode> nodes = join(3);
        List<Call<Void>> calls = new ArrayList<>();
        for (int rank : new int[] {0, 1}) {
            calls.add(run("barrier", () -> nodes.get(rank).barrier(BarrierKind.CENTRAL, List.of(0, 1, 2), PATIENCE)));
        }
        calls.getFirst().awaitBlocked();
        nodes.get(2).close();
        IOException e = calls.getFirst().failure(IOException.class);
        assertFalse(e instanceof SocketTimeoutException, e::toString);
        nodes.get(0).close();
        calls.getLast().failure(EndpointException.class);
    }

    @Test
    void nodesAtDifferentBarriersFindOut() throws Exception {
        List<RdmaNode> nodes = join(2);
        Call<Void> one = run("central", () -> nodes.get(0).barrier(BarrierKind.CENTRAL, List.of(0, 1), PATIENCE));
        Call<Void> other = run("tree",
                () -> nodes.get(1).barrier(BarrierKind.BINARY_TREE, List.of(0, 1), Duration.ofSeconds(2)));
        assertTrue(one.failure(EndpointException.class).getMessage().contains("another barrier"));
        other.failure(IOException.class);
    }

    /** Who connects and says nothing, or a rank that is not awaited, keeps nobody out. */
    @Test
    void strangersDoNotKeepNodesFromJoining() throws Exception {
        List<InetSocketAddress> nodes = TcpExchangeTest.freeAddresses(2);
        Call<RdmaNode> first = start("join 0",
                () -> RdmaNode.join(builder(), fixture().address(), nodes, 0, PATIENCE));
        byte[] told = TcpExchange.exchange(nodes, 1, new byte[0], PATIENCE).getFirst();
        int port = Short.toUnsignedInt(ByteBuffer.wrap(told).getShort(told.length - Short.BYTES));
        InetSocketAddress entrance = new InetSocketAddress(fixture().address(), port);
        RdmaEndpoint silent = closing(builder().connect(entrance));
        RdmaEndpoint lower = closing(builder().connect(entrance));
        lower.calls().signal(0, 0); // it may be turned away before that is known to have arrived
        RdmaEndpoint node = closing(builder().connect(entrance));
        node.calls().signal(1, 0).await(PATIENCE);
        try (RdmaNode joined = first.result()) {
            assertThrows(EndpointException.class, () -> silent.receive(PATIENCE));
            assertThrows(EndpointException.class, () -> lower.receive(PATIENCE));
            node.sendImmediate(7);
            assertEquals(7, joined.peer(1).receive(PATIENCE).immediate().orElseThrow());
        }
    }

    /** Whoever waits for the last node closes the entrance at once, before the thread that heard it does anything. */
    @Test
    void aNodeThatHasComeIsNoStranger() throws Exception {
        RdmaEndpointServer server = builder().listen(new InetSocketAddress(fixture().address(), 0));
        NodeEntrance entrance = new NodeEntrance(server, 0, 2, Deadlines.after(PATIENCE));
        CompletableFuture<RdmaEndpoint> taken = entrance.awaited(1).thenApply(node -> {
            try (entrance) {
                return entrance.await(1);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        RdmaEndpoint node = closing(builder().connect(server.localAddress()));
        node.calls().signal(1, 0).await(PATIENCE);
        RdmaEndpoint heard = closing(taken.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        heard.sendImmediate(7);
        assertEquals(7, node.receive(PATIENCE).immediate().orElseThrow());
    }

    @Test
    void joiningGivesUpInTime() throws Exception {
        List<InetSocketAddress> nodes = TcpExchangeTest.freeAddresses(2);
        assertThrows(SocketTimeoutException.class,
                () -> RdmaNode.join(builder(), fixture().address(), nodes, 0, Duration.ofMillis(200)));
        assertThrows(SocketTimeoutException.class,
                () -> RdmaNode.join(builder(), fixture().address(), nodes, 1, Duration.ofMillis(200)));
    }
}
