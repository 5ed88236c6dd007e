package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.far.Holder;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/** Completion queues, their room and their events. */
abstract class CompletionQueueContract extends VerbsContract {
    private static final int WAIT_MILLIS = 30_000;

    private CompletionQueue queue(int entries) throws VerbsException {
        return closing(device().createCompletionQueue(entries, null));
    }

    /** An identifier that can have a queue pair. */
    private ConnectionIdentifier identifier() throws VerbsException {
        ConnectionEvents events = new ConnectionEvents();
        ConnectionIdentifier listener = closing(Pair.listen(loop(), fixture().address(), new ConnectionEvents()));
        return closing(Pair.resolve(loop(), listener.localAddress(), events));
    }

    @Test
    void aQueueHasAtLeastTheEntriesAskedFor() throws VerbsException {
        CompletionQueue queue = queue(100);
        assertTrue(queue.entries() >= 100, () -> "entries " + queue.entries());
        assertEquals(queue.entries(), queue.unreservedEntries());
        assertSame(device(), queue.device());
    }

    @Test
    void sizesTheDeviceDoesNotHaveAreRefused() throws VerbsException {
        Device device = device();
        int beyond = device.attributes().maxCompletionQueueEntries() + 1;
        refused(Errno.EINVAL, "entries=0", () -> device.createCompletionQueue(0, null));
        refused(Errno.EINVAL, "entries=" + beyond, () -> device.createCompletionQueue(beyond, null));
    }

    @Test
    void anEmptyQueueGivesNothing() throws VerbsException {
        CompletionQueue queue = queue(10);
        assertEquals(0, queue.poll(queue.newBatch(4)));
    }

    @Test
    void aBatchHasRoomForAtLeastOne() throws VerbsException {
        CompletionQueue queue = queue(10);
        assertEquals(3, queue.newBatch(3).capacity());
        assertThrows(IllegalArgumentException.class, () -> queue.newBatch(0));
        assertThrows(IndexOutOfBoundsException.class, () -> queue.newBatch(1).status(1));
    }

    @Test
    void roomIsReservedAndAQueuePairWithoutRoomIsRefused() throws VerbsException {
        CompletionQueue queue = queue(40);
        int room = queue.entries();
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        QueuePairConfig fits = new QueuePairConfig(queue, queue, room - 20, 20, 1, 1, 0, false);
        QueuePairConfig tooMuch = new QueuePairConfig(queue, queue, room - 20, 21, 1, 1, 0, false);
        ConnectionIdentifier identifier = identifier();
        refused(Errno.ENOSPC, "maxReceives=21", () -> identifier.createQueuePair(domain, tooMuch));
        assertEquals(room, queue.unreservedEntries(), "nothing is kept by a queue pair that was refused");
        QueuePair pair = identifier.createQueuePair(domain, fits);
        assertEquals(0, queue.unreservedEntries());
        pair.close();
        assertEquals(0, queue.unreservedEntries(), "not before the queue was seen empty");
        queue.poll(queue.newBatch(1));
        assertEquals(room, queue.unreservedEntries());
    }

    @Test
    void sendsAndReceivesMayUseTwoQueues() throws VerbsException {
        CompletionQueue sends = queue(20);
        CompletionQueue receives = queue(20);
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        int sendRoom = sends.entries();
        int receiveRoom = receives.entries();
        QueuePair pair = identifier().createQueuePair(domain,
                new QueuePairConfig(sends, receives, 7, 11, 1, 1, 0, true));
        assertEquals(sendRoom - 7, sends.unreservedEntries());
        assertEquals(receiveRoom - 11, receives.unreservedEntries());
        pair.close();
    }

    @Test
    void aQueuePairLargerThanTheDeviceAllowsIsRefused() throws VerbsException {
        CompletionQueue queue = queue(1000);
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        ConnectionIdentifier identifier = identifier();
        int elements = device().attributes().maxScatterGather() + 1;
        refused(Errno.EINVAL, "maxSendElements=" + elements, () -> identifier.createQueuePair(domain,
                new QueuePairConfig(queue, queue, 4, 4, elements, 1, 0, false)));
        assertEquals(queue.entries(), queue.unreservedEntries());
    }

    @Test
    void moreInlineBytesThanTheDeviceHasAreCutDown() throws VerbsException {
        CompletionQueue queue = queue(20);
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        QueuePair pair = closing(identifier().createQueuePair(domain,
                new QueuePairConfig(queue, queue, 4, 4, 1, 1, 1 << 20, false)));
        assertTrue(pair.maxInlineBytes() >= 16 && pair.maxInlineBytes() < 1 << 20,
                () -> "granted " + pair.maxInlineBytes());
    }

    @Test
    void armThenPollThenWaitLosesNothing() throws VerbsException {
        Device device = device();
        CompletionChannel channel = closing(device.createCompletionChannel());
        CompletionQueue queue = closing(device.createCompletionQueue(4 * (End.SENDS + End.RECEIVES), channel));
        EventPoller poller = closing(provider().createEventPoller());
        poller.add(channel);
        Pair pair = connect(queue);
        WorkCompletions batch = queue.newBatch(4);
        for (int round = 0; round < 20; round++) {
            queue.requestNotification();
            assertEquals(0, queue.poll(batch), "completions before the post");
            pair.passive.postReceive(1, 0, 10);
            pair.active.send.send(2).add(pair.active.region, 0, 10).signalled();
            pair.active.postSend();
            List<EventSource> ready = new ArrayList<>();
            assertEquals(1, poller.await(WAIT_MILLIS, ready::add), "ready sources");
            assertSame(channel, ready.getFirst());
            List<CompletionQueue> armed = new ArrayList<>();
            assertEquals(1, channel.drainEvents(armed::add), "one event per arming");
            assertSame(queue, armed.getFirst());
            pair.active.await();
            pair.active.await();
        }
        assertEquals(0, channel.drainEvents(q -> {
        }), "events without arming");
    }

    /** However many a batch holds, and whether some came while the queue was armed: the oldest is the first. */
    @Test
    void batchesOfAnySizeGiveCompletionsInTheirOrder() throws VerbsException {
        Pair pair = connect(null);
        for (int size = 1; size <= End.RECEIVES + 1; size++) {
            WorkCompletions batch = pair.passive.queue.newBatch(size);
            for (int id = 0; id < End.RECEIVES; id++) {
                pair.passive.postReceive(id, 0, 10);
            }
            int sent = 0;
            int expected = 0;
            while (expected < End.RECEIVES) {
                for (int i = 0; i < 3 && sent < End.RECEIVES; i++, sent++) {
                    pair.active.send.send(sent).add(pair.active.region, 0, 10).signalled();
                    pair.active.postSend();
                    pair.active.awaitSuccess(sent);
                }
                if (sent % 2 == 0) {
                    pair.passive.queue.requestNotification();
                }
                int polled = pair.passive.await(batch);
                for (int i = 0; i < polled; i++) {
                    assertEquals(expected++, batch.workRequestId(i), "batches of " + size);
                    assertEquals(pair.passive.queuePair.number(), batch.queuePairNumber(i));
                }
            }
        }
    }

    /** One batch, as it fits every queue of the device. */
    @Test
    void aPollGivesCompletionsOfItsQueueAlone() throws VerbsException {
        List<Pair> pairs = List.of(connect(null), connect(null));
        WorkCompletions batch = pairs.getFirst().passive.queue.newBatch(4);
        for (int round = 0; round < 20; round++) {
            for (Pair pair : pairs) {
                pair.passive.postReceive(round, 0, 10);
                pair.active.send.send(round).add(pair.active.region, 0, 10).signalled();
                pair.active.postSend();
                pair.active.awaitSuccess(round);
            }
            for (Pair pair : pairs) {
                assertEquals(1, pair.passive.await(batch));
                assertEquals(pair.passive.queuePair.number(), batch.queuePairNumber(0));
            }
        }
    }

    /** Waits, as the accepting side, for the event of a queue that was armed before its connection was made. */
    private static final class ArmedBefore implements AutoCloseable {
        private final Acceptor acceptor;
        private final CompletionChannel channel;
        private final CompletionQueue queue;
        private final EventPoller poller;
        private End end;

        ArmedBefore(Acceptor acceptor) throws VerbsException {
            this.acceptor = acceptor;
            Device device = acceptor.device();
            channel = device.createCompletionChannel();
            queue = device.createCompletionQueue(End.SENDS + End.RECEIVES, channel);
            poller = acceptor.provider.createEventPoller();
            poller.add(channel);
            queue.requestNotification();
        }

        void accept() throws VerbsException {
            end = acceptor.prepare(queue);
            end.postReceive(3, 0, 10);
            end.identifier.accept(Pair.ANSWER);
        }

        void awaitEvent() throws VerbsException {
            assertEquals(1, poller.await(WAIT_MILLIS, source -> assertSame(channel, source)));
            end.awaitSuccess(3);
        }

        @Override
        public void close() {
            end.close();
            queue.close();
            poller.close();
            channel.close();
        }
    }

    @Test
    void aQueueArmedBeforeItsConnectionReports() throws VerbsException {
        Holder<Acceptor> acceptor = acceptor();
        // An earlier connection between the same two ends: what they share may be in any state now.
        Duo earlier = closing(new Duo(loop(), acceptor));
        earlier.passive.tell(end -> end.postReceive(1, 0, 10));
        earlier.active.send.send(2).add(earlier.active.region, 0, 10).signalled();
        earlier.active.postSend();
        earlier.passive.ask(end -> end.awaitSuccess(1));
        Holder<ArmedBefore> armed = acceptor.make(a -> new ArmedBefore(a));
        InetSocketAddress destination = acceptor.ask(a -> a.address());
        ConnectionEvents events = new ConnectionEvents();
        End active = closing(new End(closing(Pair.resolve(loop(), destination, events)), events));
        active.identifier.connect(Pair.PARAMETERS);
        armed.tell(a -> a.accept());
        closing(() -> armed.tell(a -> a.close()));
        events.await(Established.class);
        active.send.send(4).add(active.region, 0, 10).signalled();
        active.postSend();
        armed.tell(a -> a.awaitEvent());
    }

    @Test
    void twoQueuesShareAChannel() throws VerbsException {
        Device device = device();
        CompletionChannel channel = closing(device.createCompletionChannel());
        CompletionQueue idle = closing(device.createCompletionQueue(10, channel));
        CompletionQueue busy = closing(device.createCompletionQueue(4 * (End.SENDS + End.RECEIVES), channel));
        EventPoller poller = closing(provider().createEventPoller());
        poller.add(channel);
        Pair pair = connect(busy);
        idle.requestNotification();
        busy.requestNotification();
        pair.passive.postReceive(1, 0, 10);
        pair.passive.queuePair.fail();
        poller.await(WAIT_MILLIS, source -> {
        });
        List<CompletionQueue> armed = new ArrayList<>();
        channel.drainEvents(armed::add);
        assertEquals(List.of(busy), armed);
    }

    @Test
    void resizingKeepsWhatIsThere() throws VerbsException {
        CompletionQueue queue = queue(64);
        if (!device().supports(Capability.RESIZE_COMPLETION_QUEUE)) {
            refused(Errno.EOPNOTSUPP, "RESIZE_COMPLETION_QUEUE", () -> queue.resize(200));
            return;
        }
        Pair pair = connect(queue);
        pair.passive.postReceive(1, 0, 10);
        pair.active.send.send(2).add(pair.active.region, 0, 10).signalled();
        pair.active.postSend();
        int reserved = queue.entries() - queue.unreservedEntries();
        queue.resize(500);
        assertTrue(queue.entries() >= 500, () -> "entries " + queue.entries());
        assertEquals(reserved, queue.entries() - queue.unreservedEntries());
        pair.active.await();
        pair.active.await();
        refused(Errno.EINVAL, "reserved", () -> queue.resize(reserved - 1));
    }

    @Test
    void aChannelOfAnotherDeviceIsRefused() throws VerbsException {
        CompletionChannel channel = closing(device().createCompletionChannel());
        for (var info : provider().devices()) {
            Device other = provider().open(info.name());
            if (other != device()) {
                assertThrows(IllegalArgumentException.class, () -> other.createCompletionQueue(10, channel));
            }
        }
    }
}
