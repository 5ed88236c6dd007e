package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.interop.TestBed;

/** Scopes, groups, ranked nodes and their barriers. */
abstract class EndpointGroupContract extends EndpointContract {
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

    /** The address where a node listens for others over RDMA, as it tells each caller that calls as node 1 over TCP. */
    private static InetSocketAddress entrance(InetSocketAddress node) throws Exception {
        try (Socket caller = TcpExchangeTest.dial(node)) {
            caller.setSoTimeout(30_000);
            caller.getOutputStream().write(TcpExchangeTest.call(1));
            DataInputStream in = new DataInputStream(caller.getInputStream());
            in.readLong();
            return NodeEntrance.address(in.readNBytes(in.readInt()));
        }
    }

    private void assertRefused(InetSocketAddress entrance, byte[] pass) {
        assertThrows(ConnectException.class,
                () -> builder().connectUntil(entrance, pass, NanoTimes.after(PATIENCE)).close());
    }

    private static byte[] pass(int rank, int token) {
        return ByteBuffer.allocate(NodeEntrance.PASS_BYTES).putInt(rank).putInt(token).array();
    }

    /** A caller that comes first with the number of a node, or with none, is refused; the group forms nevertheless. */
    @Test
    void strangersTakeNobodysPlace() throws Exception {
        List<InetSocketAddress> nodes = TcpExchangeTest.freeAddresses(2);
        Call<RdmaNode> first = start("join 0",
                () -> RdmaNode.join(builder().backlog(4), fixture().address(), nodes, 0, PATIENCE));
        InetSocketAddress entrance = entrance(nodes.getFirst());
        for (int i = 0; i < 10; i++) {
            assertRefused(entrance, null);
            assertRefused(entrance, pass(1, i));
        }
        for (int rank : new int[] {-1, 0, 2, Integer.MAX_VALUE}) {
            assertRefused(entrance, pass(rank, 0));
        }
        assertRefused(entrance, new byte[1]);
        Call<RdmaNode> second = start("join 1",
                () -> RdmaNode.join(builder(), fixture().address(), nodes, 1, PATIENCE));
        try (RdmaNode one = first.result(); RdmaNode other = second.result()) {
            one.peer(1).sendImmediate(7);
            assertEquals(7, other.peer(0).receive(PATIENCE).immediate().orElseThrow());
        }
    }

    /** The pass that a node shows another opens neither that one a second time nor a third node. */
    @Test
    void aPassIsGoodForOneConnectionToOneNode() throws Exception {
        List<InetSocketAddress> nodes = TcpExchangeTest.freeAddresses(3);
        long deadline = NanoTimes.after(PATIENCE);
        Call<RdmaNode> first = start("join 0",
                () -> RdmaNode.join(builder(), fixture().address(), nodes, 0, PATIENCE));
        NodeEntrance second = closing(new NodeEntrance(builder(), fixture().address(), 1, 3));
        NodeEntrance third = closing(new NodeEntrance(builder(), fixture().address(), 2, 3));
        Call<List<byte[]>> told = start("exchange 1", () -> TcpExchange.exchange(nodes, 1, second, null, deadline));
        TcpExchange.exchange(nodes, 2, third, null, deadline);
        InetSocketAddress entrance = NodeEntrance.address(told.result().getFirst());
        assertRefused(entrance, third.pass(1));
        RdmaEndpoint genuine = closing(builder().connectUntil(entrance, second.pass(0), deadline));
        Await.until("the pass opens nothing any more", () -> {
            try {
                return isHungUpOn(closing(builder().connectUntil(entrance, second.pass(0), deadline)));
            } catch (ConnectException e) {
                return true;
            }
        });
        RdmaEndpoint last = closing(builder().connectUntil(entrance, third.pass(0), deadline));
        try (RdmaNode joined = first.result()) {
            genuine.sendImmediate(7);
            assertEquals(7, joined.peer(1).receive(PATIENCE).immediate().orElseThrow());
            last.sendImmediate(8);
            assertEquals(8, joined.peer(2).receive(PATIENCE).immediate().orElseThrow());
        }
    }

    private static boolean isHungUpOn(RdmaEndpoint end) throws IOException {
        assertThrows(EndpointException.class, () -> end.receive(PATIENCE));
        return true;
    }

    /** The poller looks at each of them, and a close waits for the poller. */
    @Test
    void anEntranceClosesWhileStrangersCall() throws Exception {
        for (int i = 0; i < 10; i++) {
            NodeEntrance entrance = new NodeEntrance(builder(), fixture().address(), 0, 2);
            InetSocketAddress at = NodeEntrance.address(entrance.to(1));
            CountDownLatch refused = new CountDownLatch(8);
            AtomicBoolean closed = new AtomicBoolean();
            List<Call<Void>> strangers = new ArrayList<>();
            for (int token = 0; token < 4; token++) {
                byte[] pass = pass(1, token);
                strangers.add(run("stranger", () -> {
                    while (!closed.get()) {
                        assertThrows(IOException.class,
                                () -> builder().connectUntil(at, pass, NanoTimes.after(PATIENCE)).close());
                        refused.countDown();
                    }
                }));
            }
            assertTrue(refused.await(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "nobody was refused");
            run("close", entrance::close).result();
            closed.set(true);
            for (Call<Void> stranger : strangers) {
                stranger.result();
            }
        }
    }

    /** While many connect that are none of them. */
    @Test
    void aGroupFormsWhileStrangersCall() throws Exception {
        List<InetSocketAddress> nodes = TcpExchangeTest.freeAddresses(3);
        List<Call<RdmaNode>> calls = new ArrayList<>();
        Call<RdmaNode> first = start("join 0",
                () -> RdmaNode.join(builder().backlog(2), fixture().address(), nodes, 0, PATIENCE));
        InetSocketAddress entrance = entrance(nodes.getFirst());
        List<Call<Void>> strangers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int token = i;
            strangers.add(run("stranger", () -> {
                while (!first.isDone()) {
                    assertThrows(IOException.class, () -> builder().connectUntil(entrance, pass(2, token),
                            NanoTimes.after(PATIENCE)).close());
                }
            }));
        }
        for (int rank = 1; rank < 3; rank++) {
            int own = rank;
            calls.add(start("join " + rank,
                    () -> RdmaNode.join(builder(), fixture().address(), nodes, own, PATIENCE)));
        }
        try (RdmaNode zero = first.result(); RdmaNode one = calls.get(0).result();
                RdmaNode two = calls.get(1).result()) {
            Call<Void> other = run("barrier of 1", () -> one.barrier(PATIENCE));
            Call<Void> another = run("barrier of 2", () -> two.barrier(PATIENCE));
            zero.barrier(PATIENCE);
            other.result();
            another.result();
        }
        for (Call<Void> stranger : strangers) {
            stranger.result();
        }
    }

    @Test
    void nodesThatKnowASecretFormAGroupAndOthersDoNot() throws Exception {
        byte[] secret = random(16, 1);
        List<RdmaNode> nodes = join(2, () -> builder().groupSecret(secret));
        nodes.get(0).peer(1).sendImmediate(7);
        assertEquals(7, nodes.get(1).peer(0).receive(PATIENCE).immediate().orElseThrow());
        assertThrows(IllegalArgumentException.class, () -> builder().groupSecret(new byte[15]));
        // Neither ends sooner; both have to be there together, which takes a slow machine longer.
        String said = "";
        for (long millis = 3_000; !said.contains("secret") && millis <= TestBed.PATIENCE_MILLIS; millis *= 3) {
            List<InetSocketAddress> others = TcpExchangeTest.freeAddresses(2);
            Duration whole = Duration.ofMillis(millis);
            Call<RdmaNode> knows = start("join 0", () -> RdmaNode.join(builder().groupSecret(secret),
                    fixture().address(), others, 0, whole));
            assertThrows(IOException.class, () -> RdmaNode.join(builder(), fixture().address(), others, 1, whole));
            said = knows.failure(SocketTimeoutException.class).getMessage();
        }
        assertTrue(said.contains("secret"), said);
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
