package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.rdmasockets.far.Holder;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/** Closing: twice, in any order, while in use, and use after it. */
abstract class LifetimeContract extends VerbsContract {
    private static final int ROUNDS = 20;
    private static final long JOIN_MILLIS = 60_000;

    @Test
    void everythingMayBeClosedInAnyOrder() throws Exception {
        for (int seed = 0; seed < ROUNDS; seed++) {
            Device device = device();
            CompletionChannel channel = device.createCompletionChannel();
            CompletionQueue queue = device.createCompletionQueue(4 * (End.SENDS + End.RECEIVES), channel);
            Pair pair = new Pair(loop(), fixture().address(), queue);
            pair.passive.postReceive(1, 0, 10);
            List<AutoCloseable> all = new ArrayList<>(List.of(channel, queue, pair.active.queuePair,
                    pair.active.identifier, pair.active.region, pair.active.domain, pair.passive.queuePair,
                    pair.passive.identifier, pair.passive.region, pair.passive.domain, pair));
            Collections.shuffle(all, new Random(seed));
            for (AutoCloseable one : all) {
                one.close();
                one.close();
            }
        }
    }

    @Test
    void everythingOfBothEndsMayBeClosedInAnyOrder() throws Exception {
        Holder<Acceptor> acceptor = acceptor();
        for (int seed = 0; seed < ROUNDS; seed++) {
            Duo duo = new Duo(loop(), acceptor);
            Holder<End> passive = duo.passive;
            passive.tell(end -> end.postReceive(1, 0, 10));
            List<AutoCloseable> all = new ArrayList<>(List.of(duo.active.queuePair, duo.active.identifier,
                    duo.active.region, duo.active.domain, duo.active.queue,
                    () -> passive.tell(end -> end.queuePair.close()),
                    () -> passive.tell(end -> end.identifier.close()),
                    () -> passive.tell(end -> end.region.close()),
                    () -> passive.tell(end -> end.domain.close()),
                    () -> passive.tell(end -> end.queue.close())));
            Collections.shuffle(all, new Random(seed));
            for (AutoCloseable one : all) {
                one.close();
            }
            duo.close();
        }
        closing(new Duo(loop(), acceptor)); // the acceptor still works
    }

    @Test
    void aClosedQueuePairRefusesEverything() throws VerbsException {
        End end = connect().active;
        end.queuePair.close();
        end.send.send(1).add(end.region, 0, 1);
        end.receive.receive(1).add(end.region, 0, 1);
        assertEquals(Errno.ESHUTDOWN.number(), end.queuePair.postSend(end.send));
        assertEquals(Errno.ESHUTDOWN.number(), end.queuePair.postReceive(end.receive));
        refusedAsClosed(end.queuePair::queryState);
        refusedAsClosed(() -> end.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERROR)));
        end.queuePair.fail();
        end.queuePair.close();
        assertEquals(End.INLINE_BYTES, end.queuePair.config().maxInlineBytes());
    }

    @Test
    void aClosedCompletionQueueGivesNothing() throws VerbsException {
        Device device = device();
        CompletionQueue queue = device.createCompletionQueue(10, null);
        WorkCompletions batch = queue.newBatch(1);
        queue.close();
        assertEquals(0, queue.poll(batch));
        queue.requestNotification();
        refused(device.supports(Capability.RESIZE_COMPLETION_QUEUE) ? Errno.ESHUTDOWN
                : Errno.EOPNOTSUPP, "", () -> queue.resize(20));
    }

    @Test
    void aClosedQueueOrDomainTakesNoQueuePair() throws VerbsException {
        End end = connect().active;
        ConnectionIdentifier listener = closing(Pair.listen(loop(), fixture().address(), new ConnectionEvents()));
        ConnectionIdentifier identifier = closing(Pair.resolve(loop(), listener.localAddress(),
                new ConnectionEvents()));
        CompletionQueue closed = device().createCompletionQueue(100, null);
        closed.close();
        refusedAsClosed(() -> identifier.createQueuePair(end.domain, End.config(closed)));
        CompletionQueue open = closing(device().createCompletionQueue(100, null));
        end.domain.close();
        refusedAsClosed(() -> identifier.createQueuePair(end.domain, End.config(open)));
        assertEquals(open.entries(), open.unreservedEntries());
    }

    @Test
    void aClosedChannelHasNoEventsAndTakesNoQueues() throws VerbsException {
        CompletionChannel channel = device().createCompletionChannel();
        channel.close();
        assertEquals(0, channel.drainEvents(queue -> {
        }));
        refusedAsClosed(() -> device().createCompletionQueue(10, channel));
    }

    @Test
    void aClosedIdentifierRefusesEverything() throws VerbsException {
        End end = connect().active;
        ConnectionIdentifier identifier = end.identifier;
        InetSocketAddress address = identifier.remoteAddress();
        identifier.close();
        assertEquals(Errno.ESHUTDOWN.number(), end.queuePair.postReceive(end.receive), "its queue pair is closed, too");
        refusedAsClosed(() -> identifier.bind(address));
        refusedAsClosed(() -> identifier.listen(1));
        refusedAsClosed(() -> identifier.resolveAddress(address, 1000));
        refusedAsClosed(() -> identifier.resolveRoute(1000));
        refusedAsClosed(() -> identifier.connect(Pair.PARAMETERS));
        refusedAsClosed(() -> identifier.accept(Pair.PARAMETERS));
        refusedAsClosed(() -> identifier.reject(new byte[0]));
        refusedAsClosed(identifier::disconnect);
        refusedAsClosed(() -> identifier.createQueuePair(end.domain, End.config(end.queue)));
        assertEquals(device(), identifier.device());
    }

    @Test
    void aClosedConnectionManagerRefusesEverything() throws VerbsException {
        ConnectionManager manager = provider().createConnectionManager();
        ConnectionIdentifier identifier = manager.createIdentifier(new ConnectionEvents());
        manager.close();
        refusedAsClosed(() -> manager.createIdentifier(new ConnectionEvents()));
        assertEquals(0, manager.drainEvents());
        identifier.bind(new InetSocketAddress(fixture().address(), 0));
        identifier.close();
    }

    @Test
    void childrenWorkAfterTheirParentsClosed() throws VerbsException {
        Duo duo = connectDuo();
        duo.passive.tell(end -> end.domain.close());
        duo.active.domain.close();
        duo.passive.tell(end -> end.postReceive(1, 0, 10));
        duo.active.send.send(2).add(duo.active.region, 0, 10).signalled();
        duo.active.postSend();
        duo.active.awaitSuccess(2);
        duo.passive.ask(end -> end.awaitSuccess(1));
    }

    @Test
    void postingWhileClosingEndsInARefusal() throws Exception {
        Holder<Acceptor> acceptor = acceptor();
        for (int round = 0; round < ROUNDS; round++) {
            Duo duo = closing(new Duo(loop(), acceptor));
            long address = duo.passive.ask(end -> end.region.address());
            int key = duo.passive.ask(end -> end.region.remoteKey());
            AtomicReference<Object> result = new AtomicReference<>();
            Thread sender = Thread.ofPlatform().start(() -> result.set(writeUntilRefused(duo.active, address, key)));
            Thread receiver = Thread.ofPlatform().start(() -> duo.passive.tell(end -> receiveUntilRefused(end)));
            for (int i = 0; i < 10; i++) {
                duo.active.awaitSuccess(1);
            }
            duo.active.queuePair.close();
            duo.passive.tell(end -> end.queuePair.close());
            sender.join(JOIN_MILLIS);
            receiver.join(JOIN_MILLIS);
            assertEquals(Errno.ESHUTDOWN.number(), result.get());
            assertTrue(!receiver.isAlive(), "the receiving thread ends");
        }
    }

    /** Posts writes as long as the queue pair is open; full queues are normal. Returns the error that ended it. */
    private static int writeUntilRefused(End end, long address, int key) {
        SendRequest send = new SendRequest(1).write(1, address, key).add(end.region, 0, 64).signalled();
        int error = QueuePair.POSTED;
        while (error == QueuePair.POSTED || error == Errno.ENOMEM.number()) {
            error = end.queuePair.postSend(send);
        }
        return error;
    }

    /** Keeps receives posted until the queue pair takes no more. */
    private static void receiveUntilRefused(End end) {
        ReceiveRequest receive = new ReceiveRequest(1).receive(1).add(end.region, 0, 64);
        int error = QueuePair.POSTED;
        while (error == QueuePair.POSTED || error == Errno.ENOMEM.number()) {
            error = end.queuePair.postReceive(receive);
        }
    }

    @Test
    void pollingWhileClosingIsHarmless() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            CompletionQueue queue = device().createCompletionQueue(100, null);
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread poller = Thread.ofPlatform().start(() -> {
                WorkCompletions batch = queue.newBatch(4);
                try {
                    for (int i = 0; i < 10_000; i++) {
                        queue.poll(batch);
                        queue.requestNotification();
                    }
                } catch (Throwable t) {
                    failure.set(t);
                }
            });
            queue.close();
            poller.join(JOIN_MILLIS);
            assertEquals(null, failure.get());
        }
    }

    @Test
    void registeringWhileTheDomainClosesIsHarmless() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            var domain = device().allocateProtectionDomain();
            var memory = Arena.ofAuto().allocate(4096, 4096);
            Thread registrar = Thread.ofPlatform().start(() -> {
                try {
                    while (true) {
                        domain.register(memory, Set.of(AccessFlag.LOCAL_WRITE)).close();
                    }
                } catch (VerbsException e) {
                    assertEquals(Errno.ESHUTDOWN, e.errno());
                }
            });
            domain.close();
            registrar.join(JOIN_MILLIS);
            assertTrue(!registrar.isAlive(), "the registering thread ends");
        }
    }
}
