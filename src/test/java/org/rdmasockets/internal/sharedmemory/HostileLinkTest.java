package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.link.LinkListener;
import org.rdmasockets.internal.sharedmemory.link.LinkSlot;
import org.rdmasockets.internal.sharedmemory.link.RingWriter;
import org.rdmasockets.internal.sharedmemory.link.SharedRegion;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;
import org.rdmasockets.verbs.spi.SendHints;

/**
 * A listener, and a peer whose link is well made and whose entries are not. The peer never reads its ring. Everything
 * happens in the test's thread.
 */
class HostileLinkTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    /** The attacker's domain, and its slot for all its connections. */
    private static final long DOMAIN = 1;
    private static final int SLOT = 1;
    private static final ConnectionParameters PARAMETERS = new ConnectionParameters(new byte[0], 0, 0, 7, 7);

    private final SharedMemoryProvider victim = new SharedMemoryProvider();
    private EventPoller poller;
    private SharedMemoryConnectionManager manager;
    private ConnectionIdentifier listener;
    /** The connection that the attacker asked for last; null before. */
    private ConnectionIdentifier request;
    private DeafPeer attacker;

    @BeforeEach
    void connect() throws Exception {
        poller = victim.createEventPoller();
        manager = new SharedMemoryConnectionManager(victim.fabric, false);
        listener = manager.createIdentifier((identifier, event) -> request =
                event instanceof ConnectionEvent.ConnectRequest asked ? asked.identifier() : request);
        listener.bind(ANY_PORT);
        listener.listen(1);
        attacker = new DeafPeer(listener.localAddress());
        awaitServed("a link", () -> attacker.link != null);
    }

    @AfterEach
    void close() {
        listener.close();
        poller.close();
        attacker.close();
    }

    /** Something that comes true while both sides are served. */
    private interface Condition {
        boolean holds() throws Exception;
    }

    private void awaitServed(String what, Condition condition) throws Exception {
        Await.until(what, () -> {
            serve();
            return condition.holds();
        });
    }

    private void serve() throws VerbsException {
        poller.await(0, source -> { });
        attacker.serve();
    }

    private boolean send(int kind, int slot, int value, byte[] payload) {
        return attacker.send(kind, LinkDispatcher.FIRST | LinkDispatcher.LAST, slot, value, payload);
    }

    private byte[] greeting(InetSocketAddress destination) {
        return new ConnectMessage(DOMAIN, PARAMETERS, destination, listener.localAddress()).encode();
    }

    @Test
    void whoNeverReadsTheAnswersToItsRequestsLosesTheLink() throws Exception {
        byte[] nobodyListens = greeting(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1));
        awaitServed("the victim to hang up", () -> {
            for (int i = 0; i < 10_000 && send(LinkDispatcher.CONNECT, 0, 1, nobodyListens); i++) {
                assertTrue(attacker.link.isOpen() || attacker.ended == null);
            }
            attacker.link.writer().ringPeer();
            return attacker.ended != null;
        });
        assertFalse(attacker.link.isOpen());
    }

    /** The victim has to end the link for what was sent; the next link is a new one. */
    private void awaitHangUpAndConnect() throws Exception {
        attacker.link.writer().ringPeer();
        awaitServed("the victim to hang up", () -> attacker.ended != null);
        close();
        connect();
    }

    @Test
    void aSlotThatThePeerCannotKnowYetCannotBeNamed() throws Exception {
        for (int kind : new int[] {LinkDispatcher.ACCEPT, LinkDispatcher.REJECT, LinkDispatcher.END,
                LinkDispatcher.FAILED, LinkDispatcher.SEND,
            LinkDispatcher.WRITE, LinkDispatcher.OPEN_WRITE, LinkDispatcher.INLINE_WRITE}) {
            assertTrue(send(LinkDispatcher.CONNECT, 0, 1, greeting(listener.localAddress())));
            // The victim's slots are given out from 0, and this request was not accepted.
            assertTrue(send(kind, 0, 1, new byte[0]));
            awaitHangUpAndConnect();
        }
    }

    @Test
    void bytesThatComeAlongGoWhereThePeerMayWriteAndNowhereElse() throws Exception {
        Set<AccessFlag> readable = Set.of(AccessFlag.REMOTE_READ);
        Set<AccessFlag> writable = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        SharedMemoryDevice device = victim.fabric.device;
        try (var domain = device.allocateProtectionDomain(); var other = device.allocateProtectionDomain();
                var queue = device.createCompletionQueue(8, null);
                MemoryRegion open = domain.allocate(4096, writable);
                MemoryRegion closed = domain.allocate(4096, readable);
                MemoryRegion foreign = other.allocate(4096, writable);
                Arena arena = Arena.ofConfined();
                MemoryRegion registered = domain.register(arena.allocate(4096), writable)) {
            MemoryRegion gone = domain.allocate(4096, writable);
            gone.close();
            long begin = open.address();
            int key = open.remoteKey();
            long[][] arguments = {{4, begin + 4092, key}, {0, begin + 4096, key}, {4, begin + 4093, key},
                {4, begin - 1, key}, {4097, begin, key}, {RingWriter.MAX_PAYLOAD_BYTES, begin, key}, {4, 0, key},
                {4, Long.MAX_VALUE, key}, {4, Long.MIN_VALUE, key}, {4, begin + Long.MIN_VALUE, key},
                {0, begin + 4097, key}, {4, closed.address(), closed.remoteKey()},
                {4, foreign.address(), foreign.remoteKey()}, {4, registered.address(), registered.remoteKey()},
                {4, gone.address(), gone.remoteKey()}, {4, begin, 0}, {4, begin, -1}, {4, begin, key + 1}};
            for (int i = 0; i < arguments.length; i++) {
                boolean allowed = i < 2;
                try (QueuePair pair = accept(domain, queue)) {
                    byte[] bytes = new byte[(int) arguments[i][0]];
                    Arrays.fill(bytes, (byte) 1);
                    attacker.write(i, bytes, arguments[i][1], arguments[i][2]);
                    WorkCompletions done = queue.newBatch(1);
                    awaitServed("the write", () -> queue.poll(done) == 1);
                    assertEquals(allowed ? Status.SUCCESS : Status.FLUSHED, done.status(0), "of " + i);
                    assertEquals(allowed ? QueuePairState.READY_TO_SEND : QueuePairState.ERROR, pair.state());
                }
            }
            assertEquals(0x01010101, open.segment().get(ValueLayout.JAVA_INT, 4092));
            assertEquals(-1, open.segment().asSlice(0, 4092).mismatch(MemorySegment.ofArray(new byte[4092])));
            assertTrue(attacker.link.isOpen());
        }
    }

    @Test
    void bytesForAQueuePairThatHasFailedOrClosedAreDroppedAndNoneComeWithoutAReceive() throws Exception {
        Set<AccessFlag> writable = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        SharedMemoryDevice device = victim.fabric.device;
        try (var domain = device.allocateProtectionDomain();
                var queue = device.createCompletionQueue(8, null);
                MemoryRegion memory = domain.allocate(4096, writable)) {
            WorkCompletions done = queue.newBatch(1);
            accept(domain, queue).close();
            try (QueuePair failed = accept(domain, queue); QueuePair open = accept(domain, queue)) {
                failed.fail();
                for (int slot = 0; slot < 3; slot++) {
                    attacker.write(slot, new byte[] {1}, memory.address() + slot, memory.remoteKey());
                }
                awaitServed("the last write", () -> queue.poll(done) > 0 && done.queuePairNumber(0) == open.number());
                assertEquals(0x010000, memory.segment().get(ValueLayout.JAVA_INT, 0));
                assertTrue(attacker.link.isOpen());
                attacker.write(2, new byte[] {1}, memory.address(), memory.remoteKey());
                awaitHangUpAndConnect();
            }
        }
    }

    /** The end that accepts is connected before it says so: its bytes may come first. */
    @Test
    void bytesThatComeBeforeTheAnswerToARequestAreTaken() throws Exception {
        Set<AccessFlag> writable = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        SharedMemoryDevice device = victim.fabric.device;
        attacker.close();
        attacker = new DeafPeer();
        Set<Class<?>> events = new HashSet<>();
        try (ServerSocket port = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                LinkListener open = attacker.listen((InetSocketAddress) port.getLocalSocketAddress());
                var domain = device.allocateProtectionDomain(); var queue = device.createCompletionQueue(8, null);
                MemoryRegion memory = domain.allocate(4096, writable);
                ConnectionIdentifier client = manager.createIdentifier((id, event) -> events.add(event.getClass()))) {
            InetSocketAddress address = (InetSocketAddress) port.getLocalSocketAddress();
            client.resolveAddress(address, 1000);
            awaitEvent(events, ConnectionEvent.AddressResolved.class);
            client.resolveRoute(1000);
            awaitEvent(events, ConnectionEvent.RouteResolved.class);
            QueuePair pair = client.createQueuePair(domain, QueuePairConfig.signalled(queue, 1, 1, 0));
            assertEquals(QueuePair.POSTED, pair.postReceive(new ReceiveRequest(1).receive(1)));
            client.connect(PARAMETERS);
            assertTrue(attacker.link.isOpen(), open::toString);
            attacker.write(0, new byte[] {1}, memory.address(), memory.remoteKey());
            assertTrue(send(LinkDispatcher.ACCEPT, 0, SLOT, new ConnectMessage(DOMAIN, PARAMETERS, address,
                    address).encode()));
            attacker.link.writer().ringPeer();
            awaitEvent(events, ConnectionEvent.Established.class);
            WorkCompletions done = queue.newBatch(2);
            assertEquals(1, queue.poll(done));
            assertEquals(Status.SUCCESS, done.status(0));
            assertEquals(1, memory.segment().get(ValueLayout.JAVA_BYTE, 0));
        }
    }

    private void awaitEvent(Set<Class<?>> events, Class<?> wanted) throws Exception {
        awaitServed(wanted.getSimpleName(), () -> {
            manager.drainEvents();
            return events.contains(wanted);
        });
    }

    @Test
    void aPeerThatDoesNotReadIsToldOfTheFirstWritesOfManyConnections() throws Exception {
        int many = 200;
        int bytes = 2000;
        int key = 1000;
        Set<AccessFlag> writable = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        byte[] data = new byte[bytes];
        Arrays.fill(data, (byte) 1);
        SharedMemoryDevice device = victim.fabric.device;
        SharedRegion target = attacker.allocate((long) many * bytes);
        attacker.link.announce(target, key, writable, DOMAIN);
        try (var domain = device.allocateProtectionDomain();
                var queue = device.createCompletionQueue(2 * many, null);
                LinkSlot unused = attacker.link.openSlot();
                LinkSlot slot = attacker.link.openSlot()) {
            assertEquals(SLOT, slot.index(), unused::toString);
            slot.receivesPosted(many);
            List<QueuePair> pairs = new ArrayList<>();
            for (int i = 0; i < many; i++) {
                pairs.add(accept(domain, queue));
                SendRequest request = new SendRequest(1).write(i, target.segment().address() + i * bytes, key)
                        .hints(SendHints.RELAXED).bytes(data, 0, bytes).immediate(i);
                assertEquals(QueuePair.POSTED, pairs.get(i).postSend(request));
            }
            WorkCompletions done = queue.newBatch(many);
            assertEquals(many, queue.poll(done)); // none waits for a peer that may be slow, or stopped
            for (int i = 0; i < many; i++) {
                assertEquals(Status.SUCCESS, done.status(i));
            }
            assertEquals(0, target.segment().get(ValueLayout.JAVA_BYTE, 0)); // it went along
            assertEquals(1, target.segment().get(ValueLayout.JAVA_BYTE, many * bytes - 1));
            pairs.forEach(QueuePair::close);
        }
    }

    @Test
    void whatAFullRingHasNoRoomForHoldsUpNobodyAndEndsWithThePeer() throws Exception {
        SharedMemoryDevice device = victim.fabric.device;
        try (var domain = device.allocateProtectionDomain();
                var queue = device.createCompletionQueue(8, null);
                LinkSlot unused = attacker.link.openSlot();
                LinkSlot slot = attacker.link.openSlot()) {
            assertEquals(SLOT, slot.index(), unused::toString);
            slot.receivesPosted(Integer.MAX_VALUE);
            QueuePair pair = accept(domain, queue);
            QueuePair other = accept(domain, queue);
            SendRequest request = new SendRequest(1).write(1, 0, 0).immediate(1);
            WorkCompletions done = queue.newBatch(1);
            int posted = 0;
            do {
                assertEquals(QueuePair.POSTED, pair.postSend(request));
                posted++;
            } while (queue.poll(done) == 1);
            assertTrue(posted > 1000, "there was room for only " + posted);
            other.close();
            assertTrue(send(LinkDispatcher.WRITE, 0, 1, new byte[0]));
            attacker.link.writer().ringPeer();
            awaitServed("a message", () -> queue.poll(done) == 1);
            assertEquals(CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE, done.opcode(0));
            attacker.link.close();
            awaitServed("the write to fail", () -> queue.poll(done) == 1);
            assertEquals(Status.RETRY_EXCEEDED, done.status(0));
            pair.close();
        }
    }

    /** Accepts a connection that the attacker asks for, with one receive. */
    private QueuePair accept(ProtectionDomain domain, CompletionQueue queue) throws Exception {
        request = null;
        assertTrue(send(LinkDispatcher.CONNECT, 0, SLOT, greeting(listener.localAddress())));
        attacker.link.writer().ringPeer();
        awaitServed("a request", () -> {
            manager.drainEvents();
            return request != null;
        });
        QueuePair pair = request.createQueuePair(domain, QueuePairConfig.signalled(queue, 1, 1, 0));
        assertEquals(QueuePair.POSTED, pair.postReceive(new ReceiveRequest(1).receive(1)));
        request.accept(PARAMETERS);
        return pair;
    }

    @Test
    void aDatagramThatNoHonestPeerSendsEndsTheLink() throws Exception {
        int ports = 1 | 2 << Short.SIZE;
        byte[] fromMulticast = {127, 0, 0, 1, (byte) 224, 0, 0, 1};
        byte[] fromNowhere = {127, 0, 0, 1, 0, 0, 0, 0, 1};
        byte[] honest = {127, 0, 0, 1, 127, 0, 0, 1, 1};
        Object[][] wrong = {{4, ports, fromMulticast}, {4, ports, fromNowhere}, {4, 1, honest},
            {4, 2 << Short.SIZE, honest}, {3, ports, honest}, {0, ports, honest}, {16, ports, honest},
            {0x7FFF, ports, honest}, {4, ports, new byte[7]}, {4, ports, new byte[RingWriter.MAX_PAYLOAD_BYTES]}};
        for (Object[] entry : wrong) {
            assertTrue(attacker.send(LinkDispatcher.DATAGRAM, (int) entry[0], -1, (int) entry[1], (byte[]) entry[2]));
            awaitHangUpAndConnect();
        }
    }

    @Test
    void aNoticeOfTakenDatagramsThatNoHonestPeerSendsEndsTheLink() throws Exception {
        for (int bytes : new int[] {0, 3, 5, 17}) {
            assertTrue(attacker.send(LinkDispatcher.TAKEN, 0, -1, 1, new byte[bytes]));
            awaitHangUpAndConnect();
        }
        assertTrue(attacker.send(LinkDispatcher.TAKEN, 0, -1, 1, new byte[4]), "nothing was ever sent there");
        attacker.link.writer().ringPeer();
        serve();
        assertTrue(attacker.link.isOpen());
    }

    @Test
    void datagramsThatNobodyHasRoomForAreDroppedAndCounted() throws Exception {
        byte[] honest = {127, 0, 0, 1, 127, 0, 0, 1, 1};
        DatagramPorts ports = victim.fabric.datagramPorts();
        CompletionQueue queue = victim.fabric.device.createCompletionQueue(1, null);
        queue.requestNotification(); // for good, as it has no channel
        List<byte[]> taken = new ArrayList<>();
        DatagramPorts.Receiver one = new DatagramPorts.Receiver() {
            @Override
            public boolean hasRoom(int bytes, Runnable ignored) {
                return taken.isEmpty();
            }

            @Override
            public boolean awaitRoom(int bytes, DatagramPorts.Sender sender) {
                throw new AssertionError("a thread that serves others waits");
            }

            @Override
            public void take(InetSocketAddress source, byte[] data, Runnable ignored) {
                taken.add(data);
                assertEquals(2, source.getPort());
            }

            @Override
            public void lookAgain() {
                throw new AssertionError("no link ends here");
            }
        };
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(),
                listener.localAddress().getPort());
        try (DatagramPorts.Port _ = ports.open(address, one, queue)) {
            int sent = 0;
            while (sent < 1000) {
                // One of three has no receiver.
                int target = sent % 3 == 0 ? 1 : address.getPort();
                if (attacker.send(LinkDispatcher.DATAGRAM, 4, -1, target | 2 << Short.SIZE, honest)) {
                    sent++;
                }
                attacker.link.writer().ringPeer();
                serve();
            }
            awaitServed("all but one to be dropped", () -> ports.dropped() == 999);
            assertEquals(1, taken.size());
            assertTrue(attacker.link.isOpen());
        }
    }

    @Test
    void aFaultInTheCodeOfALinkEndsThatLinkOnly() throws Exception {
        try (SharedMemoryEventPoller other = new SharedMemoryEventPoller(victim.fabric)) {
            LinkDispatcher end = new LinkDispatcher(victim.fabric, attacker.link);
            end.onEntry(attacker.link, null);
            assertFalse(attacker.link.isOpen());
            assertEquals(0, other.await(0, source -> { }));
        }
    }

    @Test
    void requestsThatAListenerDoesNotTakeAreForgotten() throws Exception {
        int before = victim.fabric.identifiers.size();
        int many = 500;
        List<ConnectionIdentifier> clients = new ArrayList<>();
        SharedMemoryDevice device = victim.fabric.device;
        try (var domain = device.allocateProtectionDomain();
                var queue = device.createCompletionQueue(2 * many, null)) {
            for (int i = 0; i < many; i++) {
                ConnectionIdentifier client = manager.createIdentifier((identifier, event) -> { });
                clients.add(client);
                client.resolveAddress(listener.localAddress(), 1000);
                client.resolveRoute(1000);
                client.createQueuePair(domain, QueuePairConfig.signalled(queue, 1, 1, 0));
                client.connect(PARAMETERS);
            }
            assertTrue(victim.fabric.identifiers.size() < before + 2 * many, "the listener took all");
            clients.forEach(ConnectionIdentifier::close);
        }
        listener.close();
        assertEquals(before - 1, victim.fabric.identifiers.size());
    }
}
