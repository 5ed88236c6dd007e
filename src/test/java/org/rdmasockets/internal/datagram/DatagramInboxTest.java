package org.rdmasockets.internal.datagram;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.DatagramPorts;

/** Senders of this process that wait for room. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class DatagramInboxTest {
    private static final int ROOM = 8;
    private static final InetSocketAddress SENDER = new InetSocketAddress(InetAddress.getLoopbackAddress(), 7);

    private static DatagramInbox full(long roomNanos) throws Exception {
        DatagramInbox inbox = new DatagramInbox(ROOM * DatagramPorts.cost(1), roomNanos);
        for (int i = 0; i < ROOM; i++) {
            assertTrue(inbox.awaitRoom(1));
            inbox.take(SENDER, new byte[1], null);
        }
        return inbox;
    }

    @Test
    void senderWaitsUntilHalfOfTheRoomIsFree() throws Exception {
        DatagramInbox inbox = full(TimeUnit.MINUTES.toNanos(1));
        FutureTask<Boolean> wait = new FutureTask<>(() -> inbox.awaitRoom(1));
        Thread sender = Thread.ofPlatform().start(wait);
        Await.until("the sender waits", () -> sender.getState() == Thread.State.TIMED_WAITING);
        for (int i = 0; i < ROOM / 2; i++) {
            assertFalse(wait.isDone());
            assertEquals(SENDER, inbox.receive(Long.MAX_VALUE).source());
        }
        assertTrue(wait.get());
    }

    /** A virtual thread that is interrupted would be told by a second wait. */
    @Test
    void receiverThatDoesNotReadIsWaitedForOnce() throws Exception {
        DatagramInbox inbox = full(1);
        assertFalse(inbox.awaitRoom(1));
        FutureTask<Boolean> next = new FutureTask<>(() -> {
            Thread.currentThread().interrupt();
            return inbox.awaitRoom(1);
        });
        Thread.ofVirtual().start(next);
        assertFalse(next.get());
    }

    @Test
    void closedInboxLetsSendersGo() throws Exception {
        DatagramInbox inbox = full(TimeUnit.MINUTES.toNanos(1));
        FutureTask<Boolean> wait = new FutureTask<>(() -> inbox.awaitRoom(1));
        Thread sender = Thread.ofPlatform().start(wait);
        Await.until("the sender waits", () -> sender.getState() == Thread.State.TIMED_WAITING);
        inbox.close();
        assertFalse(wait.get());
        assertNull(inbox.receive(Long.MAX_VALUE));
    }
}
