package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InterruptedIOException;
import java.lang.foreign.ValueLayout;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.verbs.Capability;

/** Raw endpoints: what the application posts itself. */
abstract class EndpointRawContract extends EndpointContract {
    private Pair connectRaw() throws Exception {
        return connect(builder().raw(true), builder().raw(true));
    }

    /** async-rdma: raw send and receive; here with the length that has come. */
    @Test
    void aRawReceiveTellsHowMuchHasCome() throws Exception {
        Pair pair = connectRaw();
        CountDownLatch posted = new CountDownLatch(1);
        Call<RawMessage> receive = start("receiveRaw", () -> pair.server().receiveRaw(1000, posted::countDown));
        assertTrue(posted.await(30, TimeUnit.SECONDS), "the hook runs after the post");
        pair.client().sendRaw(filled(pair.client(), 600, 1));
        try (RawMessage message = receive.result()) {
            assertEquals(600, message.length());
            assertArrayEquals(random(600, 1), message.segment().toArray(ValueLayout.JAVA_BYTE));
            assertEquals(OptionalInt.empty(), message.immediate());
            assertFalse(message.write());
            assertEquals(1000, message.region().length());
        }
        pair.server().link.compute(link -> {
            link.rawReceives().flushed(0); // a device that completes it twice
            return null;
        });
    }

    /** async-rdma: raw immediate data. */
    @Test
    void rawImmediateDataArrivesOrIsRefused() throws Exception {
        Pair pair = connectRaw();
        LocalRegion region = pair.client().allocate(8);
        if (!pair.client().supports(Capability.IMMEDIATE_DATA)) {
            assertThrows(UnsupportedOperationException.class, () -> pair.client().sendRaw(region, 5));
            return;
        }
        Pending<RawMessage> first = pair.server().startReceiveRaw(pair.server().allocate(64));
        Pending<RawMessage> second = pair.server().startReceiveRaw(pair.server().allocate(64));
        pair.client().sendRaw(region, -5);
        assertEquals(OptionalInt.of(-5), first.await(PATIENCE).immediate());
        LocalRegion there = open(pair.server(), 8);
        pair.client().write(fill(region, 2), there.remote(), 6);
        RawMessage told = second.await(PATIENCE);
        assertTrue(told.write());
        assertEquals(0, told.length());
        assertEquals(OptionalInt.of(6), told.immediate());
        assertArrayEquals(random(8, 2), bytes(there));
    }

    /** rdma-io, receiver not ready: the sender waits for a receive, where the device can. */
    @Test
    void aSendWaitsForAReceive() throws Exception {
        Pair pair = connectRaw();
        if (!pair.client().supports(Capability.RECEIVER_NOT_READY_RETRY)) {
            return; // there, it would break the connection: RFC 5041
        }
        Pending<Void> send = pair.client().startSendRaw(filled(pair.client(), 8, 3), OptionalInt.empty());
        assertThrows(SocketTimeoutException.class, () -> send.await(Duration.ofMillis(100)));
        assertArrayEquals(random(8, 3), pair.server().receiveRaw(8).segment().toArray(ValueLayout.JAVA_BYTE));
        send.await(PATIENCE);
    }

    /** A process that ends waits for a moment, for closed endpoints, too. */
    @Test
    void whatIsOnItsWayAtTheCloseIsNotDelivered() throws Exception {
        Pair pair = connect(builder().raw(true).linger(PATIENCE), builder().raw(true));
        if (!pair.client().supports(Capability.RECEIVER_NOT_READY_RETRY)) {
            return; // there, it would break the connection: RFC 5041
        }
        EndpointProtocol link = pair.client().link;
        pair.client().startSendRaw(filled(pair.client(), 8, 3), OptionalInt.empty());
        pair.client().close();
        assertFalse(link.connection().isDelivered());
        assertArrayEquals(random(8, 3), pair.server().receiveRaw(8).segment().toArray(ValueLayout.JAVA_BYTE));
        Await.until("it is delivered", link.connection()::isDelivered);
    }

    /** parity, traps: a retry count of 7 means for ever. Here the wait has an end. */
    @Test
    void aSendThatFindsNoReceiveEnds() throws Exception {
        Pair pair = connect(builder().raw(true).acknowledgeTimeout(Duration.ofSeconds(1)), builder().raw(true));
        LocalRegion region = pair.client().allocate(8);
        EndpointException e = awaitBroken("a send without a receive", () -> pair.client().sendRaw(region));
        if (pair.client().supports(Capability.RECEIVER_NOT_READY_RETRY)) {
            assertTrue(e.getMessage().contains("posted no receive"), e::getMessage);
        }
    }

    /** Nothing is lost: what comes into the receive of a call that gave up is what the next one gets. */
    @Test
    void whatACallThatGaveUpWouldHaveGotTheNextOneGets() throws Exception {
        Pair pair = connectRaw();
        assertThrows(IllegalStateException.class, () -> pair.server().receiveRaw(64, () -> {
            throw new IllegalStateException("the hook fails");
        }));
        Call<RawMessage> interrupted = start("receiveRaw", () -> pair.server().receiveRaw(64)).awaitBlocked();
        interrupted.interrupt();
        interrupted.failure(InterruptedIOException.class);
        pair.client().sendRaw(filled(pair.client(), 64, 5));
        try (RawMessage message = start("receiveRaw", () -> pair.server().receiveRaw(8)).result()) {
            assertArrayEquals(random(64, 5), message.segment().toArray(ValueLayout.JAVA_BYTE));
        }
    }

    /** async-rdma, cancel safety: a receive without a waiter keeps its memory until a message has come. */
    @Test
    void aRawReceiveKeepsItsMemoryUntilItsCompletion() throws Exception {
        Pair pair = connectRaw();
        LocalRegion region = pair.server().allocate(64);
        Pending<RawMessage> receive = pair.server().startReceiveRaw(region);
        assertThrows(SocketTimeoutException.class, () -> receive.await(Duration.ofMillis(20)));
        assertFalse(region.isReadable());
        assertThrows(RegionBusyException.class, () -> pair.server().sendRaw(region));
        pair.client().sendRaw(filled(pair.client(), 64, 4));
        assertEquals(64, receive.await(PATIENCE).length());
        assertTrue(region.isWritable());
        assertArrayEquals(random(64, 4), bytes(region));
    }

    @Test
    void moreThanTheReceiveTakesBreaksTheConnection() throws Exception {
        Pair pair = connectRaw();
        Pending<RawMessage> receive = pair.server().startReceiveRaw(pair.server().allocate(10));
        LocalRegion tooMuch = pair.client().allocate(11);
        Pending<Void> send = pair.client().startSendRaw(tooMuch, OptionalInt.empty());
        assertThrows(EndpointException.class, () -> receive.await(PATIENCE));
        awaitBroken("too much", () -> { // between processes it may have been told of success
            send.await(PATIENCE);
            pair.client().sendRaw(tooMuch);
        });
    }

    @Test
    void moreReceivesThanTheQueueHasAreRefused() throws Exception {
        Pair pair = connect(builder().raw(true), builder().raw(true).receiveQueue(2));
        pair.server().startReceiveRaw(pair.server().allocate(8));
        pair.server().startReceiveRaw(pair.server().allocate(8));
        refused(EndpointException.Reason.LIMIT, "all 2 receives",
                () -> pair.server().startReceiveRaw(pair.server().allocate(8)));
    }

    @Test
    void eachKindOfEndpointRefusesWhatTheOtherHas() throws Exception {
        RdmaEndpoint raw = connectRaw().client();
        RdmaEndpoint other = connect().client();
        LocalRegion region = raw.allocate(8);
        assertThrows(UnsupportedOperationException.class, () -> raw.send(region));
        assertThrows(UnsupportedOperationException.class, raw::receive);
        assertThrows(UnsupportedOperationException.class, raw::receiveImmediate);
        assertThrows(UnsupportedOperationException.class, () -> raw.requestRemote(8));
        assertThrows(UnsupportedOperationException.class, () -> other.sendRaw(other.allocate(8)));
        assertThrows(UnsupportedOperationException.class, () -> other.receiveRaw(8));
    }

    @Test
    void rawEndpointsReadAndWrite() throws Exception {
        Pair pair = connectRaw();
        LocalRegion there = open(pair.server(), 3000);
        pair.client().write(filled(pair.client(), 3000, 7), there.remote());
        LocalRegion back = pair.client().allocate(3000);
        pair.client().read(back, there.remote());
        assertArrayEquals(random(3000, 7), bytes(back));
    }

    /** RDMA-RPC: try_recv does not block. */
    @Test
    void whetherSomethingHasComeIsToldWithoutWaiting() throws Exception {
        Pair pair = connectRaw();
        Pending<RawMessage> receive = pair.server().startReceiveRaw(pair.server().allocate(64));
        assertFalse(receive.isDone());
        pair.client().sendRaw(filled(pair.client(), 64, 6));
        Await.until("something has come", receive::isDone);
        assertEquals(64, receive.await(PATIENCE).length());
    }
}
