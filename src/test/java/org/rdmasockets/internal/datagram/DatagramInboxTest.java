package org.rdmasockets.internal.datagram;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.DatagramPorts;

/** Senders of this process that wait for room. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class DatagramInboxTest {
    private static final int ROOM = 8;
    private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final DatagramPorts.Sender OPEN = new DatagramPorts.Sender();
    private static final InetSocketAddress SENDER = new InetSocketAddress(InetAddress.getLoopbackAddress(), 7);

    private static DatagramInbox inbox(long roomNanos) {
        return new DatagramInbox(ROOM * DatagramPorts.cost(1), roomNanos);
    }

    private static void fill(DatagramInbox inbox) throws Exception {
        fill(inbox, ROOM);
    }

    private static void fill(DatagramInbox inbox, int many) throws Exception {
        for (int i = 0; i < many; i++) {
            assertTrue(inbox.awaitRoom(1, OPEN));
            inbox.take(SENDER, new byte[1], null);
        }
    }

    private static FutureTask<Boolean> startWait(DatagramInbox inbox) throws Exception {
        FutureTask<Boolean> wait = new FutureTask<>(() -> inbox.awaitRoom(1, OPEN));
        Thread sender = Thread.ofPlatform().start(wait);
        Await.until("the sender waits", () -> sender.getState() == Thread.State.TIMED_WAITING);
        return wait;
    }

    /** Its sender would wait for what no receiver takes. */
    @Test
    void aDatagramThatAConnectedSocketDoesNotWantCountsAsTaken() {
        DatagramInbox inbox = inbox(LONG_NANOS);
        AtomicInteger taken = new AtomicInteger();
        inbox.take(SENDER, new byte[1], taken::incrementAndGet);
        inbox.only(new InetSocketAddress(InetAddress.getLoopbackAddress(), 8));
        assertEquals(1, taken.get());
        inbox.take(SENDER, new byte[1], taken::incrementAndGet);
        assertEquals(2, taken.get());
    }

    @Test
    void aSenderWaitsUntilHalfOfTheRoomIsFree() throws Exception {
        DatagramInbox inbox = inbox(LONG_NANOS);
        fill(inbox);
        FutureTask<Boolean> wait = startWait(inbox);
        for (int i = 0; i < ROOM / 2; i++) {
            assertFalse(wait.isDone());
            assertEquals(SENDER, inbox.receive(Long.MAX_VALUE).source());
        }
        assertTrue(wait.get());
    }

    @Test
    void aFloodToAReceiverThatReadsLosesNothing() throws Exception {
        int many = 10_000;
        DatagramInbox inbox = inbox(LONG_NANOS);
        FutureTask<Integer> lost = new FutureTask<>(() -> {
            int count = 0;
            for (int i = 0; i < many; i++) {
                if (inbox.awaitRoom(1, OPEN)) {
                    inbox.take(SENDER, new byte[1], null);
                } else {
                    count++;
                }
            }
            inbox.close();
            return count;
        });
        Thread.ofPlatform().start(lost);
        int received = 0;
        while (received < many && inbox.receive(Long.MAX_VALUE) != null) {
            received++;
        }
        assertEquals(0, lost.get());
    }

    /** A virtual thread that is interrupted would be told by a second wait. */
    @Test
    void aReceiverThatDoesNotReadIsWaitedForOnce() throws Exception {
        DatagramInbox inbox = inbox(1);
        fill(inbox);
        assertFalse(inbox.awaitRoom(1, OPEN));
        FutureTask<Boolean> next = new FutureTask<>(() -> {
            Thread.currentThread().interrupt();
            return inbox.awaitRoom(1, OPEN);
        });
        Thread.ofVirtual().start(next);
        assertFalse(next.get());
    }

    /** As above, a wait would be told. */
    @Test
    void aThreadThatReceivesDoesNotWaitForItself() throws Exception {
        DatagramInbox inbox = inbox(LONG_NANOS);
        FutureTask<Boolean> own = new FutureTask<>(() -> {
            fill(inbox);
            inbox.receive(Long.MAX_VALUE);
            fill(inbox, 1);
            Thread.currentThread().interrupt();
            return inbox.awaitRoom(1, OPEN);
        });
        Thread.ofVirtual().start(own);
        assertFalse(own.get());
        FutureTask<Boolean> wait = startWait(inbox); // another one does
        inbox.close();
        assertFalse(wait.get());
    }

    @Test
    void aClosedInboxWakesSenders() throws Exception {
        DatagramInbox inbox = inbox(LONG_NANOS);
        fill(inbox);
        FutureTask<Boolean> wait = startWait(inbox);
        inbox.close();
        assertFalse(wait.get());
        assertNull(inbox.receive(Long.MAX_VALUE));
    }

    /** Else a sender would wait for news of one that was lost. */
    @Test
    void aReceiptIsToldAndThatOfALostDatagramAfterThoseBeforeIt() throws Exception {
        DatagramInbox inbox = inbox(1);
        FutureTask<Void> first = new FutureTask<>(() -> null);
        FutureTask<Void> lost = new FutureTask<>(() -> null);
        inbox.take(SENDER, new byte[1], first);
        for (int i = 1; i < ROOM; i++) {
            inbox.take(SENDER, new byte[1], null);
        }
        assertFalse(inbox.hasRoom(1, lost));
        for (int i = 0; i < ROOM; i++) {
            assertEquals(i > 0, first.isDone());
            assertFalse(lost.isDone());
            inbox.receive(Long.MAX_VALUE);
        }
        assertTrue(lost.isDone());
    }
}
