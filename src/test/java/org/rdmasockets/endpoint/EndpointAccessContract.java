package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** Reading, writing and atomics on the peer's memory. */
abstract class EndpointAccessContract extends EndpointContract {
    private static final Set<AccessFlag> ALL = Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC);

    /** rdma-example: the whole run is a success after write, read and compare. */
    @Test
    void writeThenReadGivesTheSameBytes() throws Exception {
        Pair pair = connect();
        for (int size : new int[] {1, 16, 70_000, 1_500_001}) {
            try (LocalRegion there = open(pair.server(), size); LocalRegion from = filled(pair.client(), size, size);
                    LocalRegion into = pair.client().allocate(size)) {
                pair.client().write(from, there.remote());
                pair.client().read(into, there.remote());
                assertArrayEquals(random(size, size), bytes(into));
                assertArrayEquals(random(size, size), bytes(there));
            }
        }
    }

    @Test
    void slicesAreReadAndWrittenWhereTheyAre() throws Exception {
        Pair pair = connect();
        LocalRegion there = fill(open(pair.server(), 100), 1);
        LocalRegion here = fill(pair.client().allocate(100), 2);
        pair.client().write(here.slice(10, 20), there.remote().slice(50, 20));
        pair.client().read(here.slice(60, 40), there.remote().slice(0, 40));
        byte[] expected = random(100, 1);
        System.arraycopy(random(100, 2), 10, expected, 50, 20);
        assertArrayEquals(expected, bytes(there));
        byte[] own = random(100, 2);
        System.arraycopy(expected, 0, own, 60, 40);
        assertArrayEquals(own, bytes(here));
        assertThrows(IllegalArgumentException.class, () -> pair.client().write(here, there.remote().slice(0, 99)));
    }

    /** async-rdma: write with immediate data. ibverbs-rs, siw: devices without it refuse. */
    @Test
    void aWriteWithImmediateDataIsTold() throws Exception {
        Pair pair = connect();
        LocalRegion there = open(pair.server(), 200_000);
        LocalRegion from = filled(pair.client(), 200_000, 3);
        if (!pair.client().supports(Capability.IMMEDIATE_DATA)) {
            UnsupportedOperationException e = assertThrows(UnsupportedOperationException.class,
                    () -> pair.client().write(from, there.remote(), 1));
            assertTrue(e.getMessage().contains("IMMEDIATE_DATA"), e::getMessage);
            return;
        }
        assertThrows(SocketTimeoutException.class, () -> pair.server().receiveImmediate(Duration.ofMillis(20)));
        Call<Integer> told = start("receiveImmediate", () -> pair.server().receiveImmediate()).awaitBlocked();
        pair.client().write(from, there.remote(), -99);
        assertEquals(-99, told.result());
        assertArrayEquals(random(200_000, 3), bytes(there));
        for (int i = 0; i < 200; i++) { // more than there are receives
            pair.client().write(from.slice(0, 8), there.remote().slice(0, 8), i);
            assertEquals(i, pair.server().receiveImmediate(PATIENCE));
        }
    }

    @Test
    void manyWritesWithImmediateDataWaitForTheReceiver() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(4, 512));
        if (!pair.client().supports(Capability.IMMEDIATE_DATA)) {
            return;
        }
        LocalRegion there = open(pair.server(), 8);
        LocalRegion from = pair.client().allocate(8);
        List<Pending<Void>> writes = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            writes.add(pair.client().startWrite(from, there.remote(), i));
        }
        assertThrows(SocketTimeoutException.class, () -> writes.getLast().await(Duration.ofMillis(50)));
        for (int i = 0; i < 50; i++) {
            assertEquals(i, pair.server().receiveImmediate(PATIENCE));
        }
        writes.getLast().await(PATIENCE);
    }

    /** rdma-io: CAS and FAA; async-rdma: the old value is lost there. ibverbs-rs, siw: devices without them refuse. */
    @Test
    void atomicsReturnTheOldValue() throws Exception {
        Pair pair = connect();
        if (!pair.client().supports(Capability.ATOMICS)) {
            RemoteRegion anything = RemoteRegion.of(8, 8, 1);
            assertTrue(assertThrows(UnsupportedOperationException.class,
                    () -> pair.client().fetchAndAdd(anything, 1)).getMessage().contains("ATOMICS"));
            return;
        }
        LocalRegion there = pair.server().allocate(16, 8, ALL);
        RemoteRegion word = there.remote().slice(8, 8);
        there.segment().set(ValueLayout.JAVA_LONG, 8, 40);
        assertEquals(40, pair.client().fetchAndAdd(word, 2));
        assertEquals(42, pair.client().compareAndSwap(word, 41, 7));
        assertEquals(42, there.segment().get(ValueLayout.JAVA_LONG, 8));
        assertEquals(42, pair.client().compareAndSwap(word, 42, Long.MIN_VALUE));
        assertEquals(Long.MIN_VALUE, pair.client().fetchAndAdd(word, -1));
        assertEquals(Long.MAX_VALUE, there.segment().get(ValueLayout.JAVA_LONG, 8));
    }

    /** async-rdma: atomics that are misaligned or of a wrong length. */
    @Test
    void atomicsOnAnythingElseAreRefused() throws Exception {
        Pair pair = connect();
        for (RemoteRegion bad : List.of(RemoteRegion.of(4, 8, 1), RemoteRegion.of(8, 4, 1),
                RemoteRegion.of(8, 16, 1))) {
            assertThrows(IllegalArgumentException.class, () -> pair.client().compareAndSwap(bad, 0, 0));
            assertThrows(IllegalArgumentException.class, () -> pair.client().fetchAndAdd(bad, 0));
        }
    }

    @Test
    void concurrentAddersLoseNothing() throws Exception {
        Pair pair = connect();
        if (!pair.client().supports(Capability.ATOMICS)) {
            return;
        }
        LocalRegion there = pair.server().allocate(8, 8, ALL);
        List<Call<Void>> adders = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            adders.add(start("adder", () -> {
                for (int n = 0; n < 50; n++) {
                    pair.client().fetchAndAdd(there.remote(), 1);
                }
                return null;
            }));
        }
        for (Call<Void> adder : adders) {
            adder.result();
        }
        assertEquals(400, there.segment().get(ValueLayout.JAVA_LONG, 0));
    }

    /** A write longer than the send queue goes on, with no waiter and with a waiter for something else. */
    @Test
    void aLongWriteGoesOnWhoeverWaits() throws Exception {
        Pair pair = connect(builder().sendQueue(4), builder());
        LocalRegion there = open(pair.server(), 8000);
        LocalRegion here = pair.client().allocate(8000);
        writeInPieces("with nobody who waits", pair.client(), here, there.remote());
        Call<Message> receive = start("receive", () -> pair.client().receive()).awaitBlocked();
        writeInPieces("with somebody who receives", pair.client(), here, there.remote());
        pair.server().sendImmediate(1);
        receive.result().close();
    }

    private static void writeInPieces(String what, RdmaEndpoint end, LocalRegion from, RemoteRegion to)
            throws Exception {
        Pending<Void> write = new Pending<>(end.link.writers, "write");
        Transfer.Task task = new Transfer.Task(Transfer.Kind.WRITE, from, to, OptionalInt.empty());
        boolean owing = end.link.compute(all -> {
            all.sends.access(new Transfer(task, 8, write));
            return all.sends.isOwing();
        });
        assertTrue(owing, "somebody has to take in what completes");
        Await.until("the write ends " + what, write::hasEnded);
    }

    /** async-rdma: a write to read-only shared memory fails; the peer's memory stays as it is. */
    @Test
    void aWriteToReadOnlyMemoryFailsAndChangesNothing() throws Exception {
        Pair pair = connect();
        LocalRegion there = fill(pair.server().allocate(64, 8, Set.of(AccessFlag.REMOTE_READ)), 1);
        LocalRegion here = fill(pair.client().allocate(64), 2);
        refused(EndpointException.Reason.LEASE, "REMOTE_WRITE", () -> pair.client().write(here, there.remote()));
        pair.client().read(here, there.remote()); // refused here, so the connection lives
        RemoteRegion unchecked = RemoteRegion.of(there.remote().address(), 64, there.remote().remoteKey());
        EndpointException e = awaitBroken("a write that is not allowed", () -> pair.client().write(here, unchecked));
        assertTrue(e.reason() == EndpointException.Reason.DEVICE || e.reason() == EndpointException.Reason.PEER_GONE,
                e::getMessage);
        assertArrayEquals(random(64, 1), bytes(there));
    }

    @Test
    void anAccessThatThePeerRefusesSaysWhyAndEndsTheConnection() throws Exception {
        Pair pair = connect();
        LocalRegion here = pair.client().allocate(64);
        EndpointException e = awaitBroken("a write to nowhere",
                () -> pair.client().write(here, RemoteRegion.of(64, 64, 0x1234567)));
        if (pair.client().supports(Capability.COMPLETION_IS_DELIVERY)) {
            assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, e.status(), e::getMessage);
            assertTrue(e.getMessage().contains("a write of 64 bytes"), e::getMessage);
        }
        assertThrows(EndpointException.class, () -> pair.client().send(here));
        assertThrows(EndpointException.class, () -> pair.server().receive(PATIENCE));
    }

    /** One connection's key opens nothing in another. */
    @Test
    void theKeyOfAnotherConnectionOpensNothing() throws Exception {
        Pair one = connect();
        Pair other = connect();
        LocalRegion there = fill(open(one.server(), 64), 1);
        LocalRegion here = other.client().allocate(64);
        awaitBroken("another's key", () -> other.client().write(here, there.remote()));
        assertArrayEquals(random(64, 1), bytes(there));
        one.client().write(one.client().allocate(64), there.remote());
        assertArrayEquals(new byte[64], bytes(there));
    }

    @Test
    void memoryInUseByTheDeviceIsRefused() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(2, 512));
        LocalRegion region = pair.client().allocate(4000);
        LocalRegion there = open(pair.server(), 4000);
        Pending<Void> send = pair.client().startSend(region.slice(0, 3000)); // waits for credits
        assertThrows(RegionBusyException.class, () -> pair.client().read(region.slice(2999, 2),
                there.remote().slice(0, 2)));
        pair.client().read(region.slice(3000, 1000), there.remote().slice(0, 1000));
        pair.client().write(region, there.remote()); // reads of the device share
        pair.server().receive(PATIENCE).close();
        send.await(PATIENCE);
        pair.client().read(region, there.remote());
    }
}
