package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.verbs.AccessFlag;

/** Leases: asked for, shared, handed over, released, expired. */
abstract class EndpointLeaseContract extends EndpointContract {
    private static final Duration SHORT = Duration.ofSeconds(1);

    /** async-rdma: the lease example. The lending side calls nothing. */
    @Test
    void memoryOfThePeerIsRequestedUsedAndReleased() throws Exception {
        Pair pair = connect();
        LocalRegion here = filled(pair.client(), 100_000, 1);
        LocalRegion back = pair.client().allocate(100_000);
        try (RemoteLease lease = pair.client().requestRemote(100_000)) {
            assertEquals(100_000, lease.region().length());
            assertTrue(lease.remaining().compareTo(Duration.ofSeconds(60)) <= 0);
            assertTrue(lease.remaining().compareTo(Duration.ofSeconds(20)) > 0);
            pair.client().read(back, lease.region());
            assertArrayEquals(new byte[100_000], bytes(back), "it is zeroed");
            pair.client().write(here, lease.region());
            pair.client().read(back, lease.region());
            assertArrayEquals(random(100_000, 1), bytes(back));
        }
    }

    /** async-rdma: a lease that was requested expires; its key opens nothing any more. */
    @Test
    void aRequestedLeaseExpiresAtBothEnds() throws Exception {
        Pair pair = connect();
        LocalRegion here = pair.client().allocate(64);
        RemoteLease[] last = new RemoteLease[1];
        Await.until("a write in the time of a lease", () -> {
            last[0] = pair.client().requestRemote(64, SHORT);
            try {
                pair.client().write(here, last[0].region());
                return true;
            } catch (EndpointException e) {
                assertTrue(last[0].isExpired(), e::getMessage);
                return false;
            }
        });
        RemoteLease lease = last[0];
        Await.until("the lease expires", lease::isExpired);
        assertEquals(Duration.ZERO, lease.remaining());
        refused(EndpointException.Reason.LEASE, "expired", () -> pair.client().write(here, lease.region()));
        refused(EndpointException.Reason.LEASE, "expired", () -> pair.client().read(here, lease.region().slice(0, 64)));
        keyStopsWorking(pair.client(), here, lease.region());
    }

    /** async-rdma: a lease that was shared expires; its key opens nothing any more. */
    @Test
    void aSharedLeaseExpiresAtBothEnds() throws Exception {
        Pair pair = connect();
        LocalRegion region = fill(open(pair.server(), 64), 3);
        MemorySegment segment = region.segment();
        pair.server().share(region, SHORT);
        RemoteLease lease = pair.client().receiveShared(PATIENCE);
        LocalRegion here = pair.client().allocate(64);
        Await.until("the lease expires", lease::isExpired);
        refused(EndpointException.Reason.LEASE, "expired", () -> pair.client().read(here, lease.region()));
        Await.until("the owner's region ends", () -> !segment.scope().isAlive());
        keyStopsWorking(pair.client(), here, lease.region());
    }

    /** Without the holder's check, the peer refuses sooner or later; and that ends the connection. */
    private static void keyStopsWorking(RdmaEndpoint client, LocalRegion here, RemoteRegion old) throws Exception {
        RemoteRegion unchecked = RemoteRegion.of(old.address(), old.length(), old.remoteKey());
        awaitBroken("the key of a lease that has ended", () -> client.write(here, unchecked));
    }

    @Test
    void aReleasedLeaseIsFreedAtThePeer() throws Exception {
        Pair pair = connect(builder(), builder().remoteMemory(1000));
        for (int i = 0; i < 20; i++) {
            RemoteLease[] got = new RemoteLease[1];
            Await.until("there is room for a lease", () -> {
                got[0] = tryRequest(pair.client(), 900);
                return got[0] != null;
            });
            RemoteLease lease = got[0];
            lease.close();
            lease.close();
            assertTrue(lease.isExpired());
            refused(EndpointException.Reason.LEASE, "closed",
                    () -> pair.client().read(pair.client().allocate(900), lease.region()));
        }
    }

    private static RemoteLease tryRequest(RdmaEndpoint client, long bytes) throws Exception {
        try {
            return client.requestRemote(bytes, Duration.ofSeconds(60));
        } catch (EndpointException e) {
            assertEquals(EndpointException.Reason.REFUSED, e.reason(), e::getMessage);
            return null;
        }
    }

    /** async-rdma: the cap of the peer on access is enforced; here one on memory, too. */
    @Test
    void thePeerCapsMemoryAndAccess() throws Exception {
        Pair pair = connect(builder(), builder().remoteMemory(1000)
                .maxRemoteAccess(Set.of(AccessFlag.REMOTE_READ)));
        refused(EndpointException.Reason.REFUSED, "at most 1000", () -> pair.client().requestRemote(1001));
        refused(EndpointException.Reason.REFUSED, "rights",
                () -> pair.client().requestRemote(10, SHORT, Set.of(AccessFlag.REMOTE_WRITE)));
        RemoteLease lease = pair.client().requestRemote(600);
        assertEquals(Set.of(AccessFlag.REMOTE_READ), lease.region().access());
        refused(EndpointException.Reason.REFUSED, "at most 400", () -> pair.client().requestRemote(401));
        LocalRegion here = pair.client().allocate(600);
        pair.client().read(here, lease.region());
        refused(EndpointException.Reason.LEASE, "REMOTE_WRITE", () -> pair.client().write(here, lease.region()));
        RemoteRegion unchecked = RemoteRegion.of(lease.region().address(), 600, lease.region().remoteKey());
        awaitBroken("a write that is not allowed", () -> pair.client().write(here, unchecked));
    }

    /** A server that never accepts gives nothing away; one that does so later has lost no question. */
    @Test
    void whatIsAskedForBeforeTheAcceptIsGivenAfterIt() throws Exception {
        RdmaEndpointServer server = closing(builder().listen(anyPort()));
        RdmaEndpoint client = closing(builder().connect(server.localAddress()));
        EndpointProtocol link = client.link;
        List<Pending<RemoteLease>> asked = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            asked.add(link.compute(all -> all.borrower.ask(1 << 20, Duration.ofHours(1).toNanos(),
                    Set.of())));
        }
        for (Pending<RemoteLease> one : asked) {
            assertThrows(SocketTimeoutException.class, () -> one.await(Duration.ofMillis(20)));
        }
        RdmaEndpoint accepted = closing(server.accept(PATIENCE));
        for (Pending<RemoteLease> one : asked) {
            one.await(PATIENCE).close();
        }
        Await.until("all are back", () -> !accepted.link.lender.isLending());
    }

    @Test
    void aQuestionThatNobodyAcceptsEndsWithItsCallersPatience() throws Exception {
        RdmaEndpointServer server = closing(builder().listen(anyPort()));
        RdmaEndpoint client = closing(builder().answerTimeout(Duration.ofMillis(200)).connect(server.localAddress()));
        assertThrows(SocketTimeoutException.class, () -> client.requestRemote(64));
        RdmaEndpoint accepted = closing(server.accept(PATIENCE));
        client.send(client.allocate(5)); // and the connection lives
        assertEquals(5, accepted.receive(PATIENCE).length());
        Await.until("what nobody waits for goes back", () -> !accepted.link.lender.isLending());
    }

    @Test
    void thePeerCapsTheNumberOfLeasesToo() throws Exception {
        Pair pair = connect();
        List<RemoteLease> leases = new ArrayList<>();
        for (int i = 0; i < 256; i++) {
            leases.add(pair.client().requestRemote(1));
        }
        refused(EndpointException.Reason.REFUSED, "memory", () -> pair.client().requestRemote(1));
        leases.getFirst().close();
        pair.client().requestRemote(1).close();
    }

    /** The answer comes when its asker has just given up. */
    @Test
    void aLeaseThatNobodyWaitsForGoesBack() throws Exception {
        Pair pair = connect();
        EndpointProtocol link = pair.client().link;
        Pending<RemoteLease> answer = link.compute(
                all -> all.borrower.ask(64, Duration.ofHours(1).toNanos(), Set.of()));
        Await.until("the answer", answer::isDone);
        assertTrue(pair.server().link.lender.isLending());
        link.connection().locked(() -> link.borrower.withdraw(answer));
        Await.until("the lease is back", () -> !pair.server().link.lender.isLending());
    }

    @Test
    void aLeaseIsForItsOwnConnectionOnly() throws Exception {
        Pair pair = connect();
        Pair other = connect();
        RemoteLease lease = pair.client().requestRemote(64);
        LocalRegion here = other.client().allocate(64);
        assertThrows(IllegalArgumentException.class, () -> other.client().read(here, lease.region().slice(0, 64)));
        assertThrows(IllegalArgumentException.class, () -> other.client().handOver(lease));
        other.client().send(here); // and the connection lives
        assertEquals(64, other.server().receive(PATIENCE).length());
    }

    @Test
    void lessAccessCanBeAskedFor() throws Exception {
        Pair pair = connect();
        RemoteLease lease = pair.client().requestRemote(64, SHORT, Set.of(AccessFlag.REMOTE_READ));
        assertEquals(Set.of(AccessFlag.REMOTE_READ), lease.region().access());
    }

    @Test
    void aLongLeaseIsCutToWhatThePeerGives() throws Exception {
        Pair pair = connect(builder(), builder().longestLease(Duration.ofSeconds(50)));
        RemoteLease lease = pair.client().requestRemote(64, Duration.ofDays(400_000));
        assertTrue(lease.remaining().compareTo(Duration.ofSeconds(50)) <= 0, () -> "" + lease.remaining());
        assertFalse(lease.isExpired());
    }

    @Test
    void memoryIsSharedAndHandedOver() throws Exception {
        Pair pair = connect();
        LocalRegion region = fill(open(pair.server(), 5000), 4);
        Call<RemoteLease> receive = start("receiveShared", () -> pair.client().receiveShared()).awaitBlocked();
        pair.server().share(region, Duration.ofSeconds(60));
        RemoteLease lease = receive.result();
        LocalRegion here = pair.client().allocate(5000);
        pair.client().read(here, lease.region());
        assertArrayEquals(random(5000, 4), bytes(here));
        pair.client().write(fill(here, 5), lease.region());
        Call<LocalRegion> back = start("receiveHandedOver", () -> pair.server().receiveHandedOver()).awaitBlocked();
        pair.client().handOver(lease);
        assertArrayEquals(random(5000, 5), bytes(back.result()));
        assertTrue(lease.isExpired());
        refused(EndpointException.Reason.LEASE, "handed over", () -> pair.client().read(here, lease.region()));
        refused(EndpointException.Reason.LEASE, "handed over", () -> pair.client().handOver(lease));
    }

    @Test
    void aRegionIsSharedOnceAtATime() throws Exception {
        Pair pair = connect();
        LocalRegion region = open(pair.server(), 64);
        pair.server().share(region, Duration.ofSeconds(60));
        assertThrows(IllegalStateException.class, () -> pair.server().share(region, Duration.ofSeconds(60)));
        pair.client().handOver(pair.client().receiveShared(PATIENCE));
        pair.server().share(pair.server().receiveHandedOver(PATIENCE), Duration.ofSeconds(60));
        RemoteLease again = pair.client().receiveShared(PATIENCE);
        region.close(); // the owner may end it before its time
        refused(EndpointException.Reason.LEASE, "at the peer", () -> pair.client().handOver(again));
    }

    @Test
    void memoryThatWasAskedForIsHandedOver() throws Exception {
        Pair pair = connect();
        RemoteLease lease = pair.client().requestRemote(700);
        pair.client().write(filled(pair.client(), 700, 8), lease.region());
        pair.client().handOver(lease);
        try (LocalRegion region = pair.server().receiveHandedOver(PATIENCE)) {
            assertArrayEquals(random(700, 8), bytes(region));
        }
        assertThrows(SocketTimeoutException.class, () -> pair.server().receiveHandedOver(Duration.ofMillis(20)));
    }

    @Test
    void whatWasHandedOverCountsUntilItIsTaken() throws Exception {
        Pair pair = connect(builder(), builder().remoteMemory(1000));
        pair.client().handOver(pair.client().requestRemote(900));
        refused(EndpointException.Reason.REFUSED, "at most 100 bytes", () -> pair.client().requestRemote(900));
        pair.server().receiveHandedOver(PATIENCE);
        pair.client().requestRemote(900);
    }

    /** The peer cannot change memory that it has handed over. */
    @Test
    void theKeyOfWhatWasHandedOverOpensNothing() throws Exception {
        Pair pair = connect();
        RemoteLease lease = pair.client().requestRemote(700);
        LocalRegion here = filled(pair.client(), 700, 8);
        pair.client().write(here, lease.region());
        pair.client().handOver(lease);
        LocalRegion there = pair.server().receiveHandedOver(PATIENCE);
        assertFalse(Rights.anyRemote(there.access()));
        keyStopsWorking(pair.client(), fill(here, 9), lease.region());
        assertArrayEquals(random(700, 8), bytes(there));
    }

    /** The key works as long as this end works on the memory; so the connection ends at last. */
    @Test
    void aLeaseThatItsOwnerWorksOnForLongEndsTheConnection() throws Exception {
        Pair pair = connect(builder().receiveBuffers(2, 512), builder().answerTimeout(Duration.ofMillis(200)));
        LocalRegion region = open(pair.server(), 5000);
        pair.server().share(region, SHORT);
        pair.client().receiveShared(PATIENCE);
        pair.server().startSend(region); // waits for credits
        refused(EndpointException.Reason.LEASE, "works on its memory", () -> pair.server().receive(PATIENCE));
    }

    @Test
    void aLeaseThatItsOwnerWorksOnForAMomentEndsAfterThat() throws Exception {
        Pair pair = connect(builder().receiveBuffers(2, 512), builder().answerTimeout(PATIENCE));
        LocalRegion region = fill(open(pair.server(), 5000), 6);
        MemorySegment segment = region.segment();
        pair.server().share(region, SHORT);
        RemoteLease lease = pair.client().receiveShared(PATIENCE);
        pair.server().startSend(region);
        Await.until("the lease expires", lease::isExpired);
        Await.until("the owner's region ends", () -> !segment.scope().isAlive());
        assertArrayEquals(random(5000, 6), pair.client().receive(PATIENCE).toArray());
        pair.server().send(pair.server().allocate(5));
        assertEquals(5, pair.client().receive(PATIENCE).length());
        keyStopsWorking(pair.client(), pair.client().allocate(5000), lease.region());
    }

    @Test
    void nothingIsSharedOverAConnectionThatIsOver() throws Exception {
        Pair pair = connect();
        LocalRegion region = open(pair.server(), 64);
        RdmaEndpointServer listening = closing(pair.server().another().listen(anyPort()));
        Pair other = new Pair(closing(builder().connect(listening.localAddress())),
                closing(listening.accept(PATIENCE)));
        other.client().close();
        refused(EndpointException.Reason.PEER_CLOSED, "closed", () -> other.server().receive(PATIENCE));
        refused(EndpointException.Reason.PEER_CLOSED, "closed", () -> other.server().share(region, PATIENCE));
        pair.server().share(region, PATIENCE);
        assertEquals(64, pair.client().receiveShared(PATIENCE).region().length());
    }

    /** async-rdma: handing over what has expired fails. */
    @Test
    void anExpiredLeaseIsNotHandedOver() throws Exception {
        Pair pair = connect();
        RemoteLease lease = pair.client().requestRemote(64, SHORT);
        Await.until("the lease expires", lease::isExpired);
        refused(EndpointException.Reason.LEASE, "expired", () -> pair.client().handOver(lease));
        pair.client().send(pair.client().allocate(5)); // and the connection lives
        assertEquals(5, pair.server().receive(PATIENCE).length());
    }

    @Test
    void onlyAllOfARegionThatThePeerMayReachIsShared() throws Exception {
        Pair pair = connect();
        assertThrows(IllegalArgumentException.class,
                () -> pair.client().share(pair.client().allocate(8), SHORT));
        assertThrows(IllegalArgumentException.class,
                () -> pair.client().share(open(pair.client(), 8).slice(0, 4), SHORT));
        LocalRegion closed = open(pair.client(), 8);
        closed.close();
        assertThrows(IllegalStateException.class, () -> pair.client().share(closed, SHORT));
    }

    @Test
    void manyThreadsLeaseAtOnce() throws Exception {
        Pair pair = connect();
        List<Call<Void>> calls = new ArrayList<>();
        for (RdmaEndpoint end : List.of(pair.client(), pair.server())) {
            for (int thread = 0; thread < 10; thread++) {
                int seed = thread;
                calls.add(start("leases", () -> {
                    LocalRegion here = filled(end, 256, seed);
                    LocalRegion back = end.allocate(256);
                    for (int i = 0; i < 10; i++) {
                        try (RemoteLease lease = end.requestRemote(256, Duration.ofSeconds(60))) {
                            end.write(here, lease.region());
                            end.read(back, lease.region());
                            assertArrayEquals(random(256, seed), bytes(back));
                        }
                    }
                    return null;
                }));
            }
        }
        for (Call<Void> call : calls) {
            call.result();
        }
    }

    @Test
    void leasesAreServedWhileMessagesWait() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(2, 512));
        LocalRegion region = pair.client().allocate(3000);
        Pending<Void> waiting = pair.client().startSend(region);
        pair.client().requestRemote(64).close();
        assertFalse(waiting.isDone());
        assertEquals(3000, pair.server().receive(PATIENCE).length());
        waiting.await(PATIENCE);
        region.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
    }
}
