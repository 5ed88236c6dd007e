package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.VerbsException;

/** The requests that a peer in another process may make of receives that are shared. */
class SharedReceivesTest {
    private final SharedMemoryDevice device = new SharedMemoryProvider(false).fabric.device;
    private SharedMemoryProtectionDomain domain;
    private SharedMemoryCompletionQueue queue;
    private SharedMemorySharedReceiveQueue shared;

    @BeforeEach
    void make() throws VerbsException {
        domain = new SharedMemoryProtectionDomain(device, null, false);
        queue = new SharedMemoryCompletionQueue(device, 200, null);
        shared = (SharedMemorySharedReceiveQueue) domain.createSharedReceiveQueue(20, 1);
    }

    private SharedMemoryQueuePair queuePair(SharedMemorySharedReceiveQueue receives) throws VerbsException {
        return SharedMemoryQueuePair.create(domain, QueuePairConfig.signalled(queue, 4, 4, 0), receives);
    }

    private void post(int count) {
        for (int i = 0; i < count; i++) {
            assertEquals(QueuePair.POSTED, shared.postReceive(new ReceiveRequest(1).receive(i)));
        }
    }

    @Test
    void noMoreCanBeWantedThanMayWait() throws VerbsException {
        ReceiveQueue receives = queuePair(shared).receiveQueue;
        assertFalse(receives.want(0));
        assertFalse(receives.want(-1));
        assertFalse(receives.want(ReceiveQueue.MOST_WANTED + 1));
        assertTrue(receives.want(ReceiveQueue.MOST_WANTED));
        assertFalse(receives.want(1), "as many as may are wanted already");
        post(20);
        assertFalse(receives.want(1), "as many as may are there and not used");
    }

    @Test
    void nothingCanBeWantedOfReceivesThatAreNotShared() throws VerbsException {
        assertFalse(queuePair(null).receiveQueue.want(1));
    }

    @Test
    void whatADeadQueuePairWantedGoesToOthers() throws VerbsException {
        SharedMemoryQueuePair dead = queuePair(shared);
        SharedMemoryQueuePair other = queuePair(shared);
        post(1);
        assertTrue(dead.receiveQueue.want(10));
        assertTrue(other.receiveQueue.want(3));
        assertEquals(Status.NOT_READY, queuePair(shared).receiveQueue.begin(0), "all are promised");
        dead.fail();
        assertEquals(Status.SUCCESS, other.receiveQueue.begin(0), "it came back");
    }

    @Test
    void whoWantsMuchLeavesAsMuchToOthers() throws VerbsException {
        ReceiveQueue hoarding = queuePair(shared).receiveQueue;
        post(16);
        assertTrue(hoarding.want(16));
        for (int i = 0; i < 8; i++) {
            assertEquals(Status.SUCCESS, queuePair(shared).receiveQueue.begin(0), "not even half is left");
        }
    }

    @Test
    void whoUsesWhatItWantsGetsAll() throws VerbsException {
        ReceiveQueue one = queuePair(shared).receiveQueue;
        post(16);
        assertTrue(one.want(16));
        for (int i = 0; i < 16; i++) {
            assertEquals(Status.SUCCESS, one.begin(0));
            one.finish(true, 0, false, 0);
        }
        assertTrue(one.want(16), "all that was wanted has been used");
    }

    @Test
    void aQueuePairThatClosesWhileItWaitsIsForgotten() throws VerbsException {
        SharedMemoryQueuePair closed = queuePair(shared);
        assertTrue(closed.receiveQueue.want(5));
        closed.close();
        post(1);
        assertEquals(Status.SUCCESS, queuePair(shared).receiveQueue.begin(0));
    }
}
