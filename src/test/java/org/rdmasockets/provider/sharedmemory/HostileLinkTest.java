package org.rdmasockets.provider.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.provider.sharedmemory.link.RingWriter;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;

/**
 * A listener, and a peer whose link is well made and whose entries are not. The peer never reads its ring. Everything
 * happens in the test's thread.
 */
class HostileLinkTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    private static final ConnectionParameters PARAMETERS = new ConnectionParameters(new byte[0], 0, 0, 7, 7);

    private final SharedMemoryProvider victim = new SharedMemoryProvider();
    private EventPoller poller;
    private SharedMemoryConnectionManager manager;
    private ConnectionIdentifier listener;
    private DeafPeer attacker;

    @BeforeEach
    void connect() throws Exception {
        poller = victim.createEventPoller();
        manager = new SharedMemoryConnectionManager(victim.fabric, false);
        listener = manager.createIdentifier((identifier, event) -> { });
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
        return attacker.send(kind, LinkEnd.FIRST | LinkEnd.LAST, slot, value, payload);
    }

    private byte[] greeting(InetSocketAddress destination) {
        return new Greeting(1, PARAMETERS, destination, listener.localAddress()).encode();
    }

    @Test
    void whoNeverReadsTheAnswersToItsRequestsLosesTheLink() throws Exception {
        byte[] nobodyListens = greeting(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1));
        awaitServed("the victim to hang up", () -> {
            for (int i = 0; i < 10_000 && send(LinkEnd.CONNECT, 0, 1, nobodyListens); i++) {
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
        for (int kind : new int[] {LinkEnd.ACCEPT, LinkEnd.REJECT, LinkEnd.END, LinkEnd.FAILED, LinkEnd.SEND,
            LinkEnd.WRITE, LinkEnd.OPEN_WRITE}) {
            assertTrue(send(LinkEnd.CONNECT, 0, 1, greeting(listener.localAddress())));
            // The victim's slots are given out from 0, and this request was not accepted.
            assertTrue(send(kind, 0, 1, new byte[0]));
            awaitHangUpAndConnect();
        }
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
            assertTrue(attacker.send(LinkEnd.DATAGRAM, (int) entry[0], -1, (int) entry[1], (byte[]) entry[2]));
            awaitHangUpAndConnect();
        }
    }

    @Test
    void datagramsThatNobodyHasRoomForAreDroppedAndCounted() throws Exception {
        byte[] honest = {127, 0, 0, 1, 127, 0, 0, 1, 1};
        DatagramPorts ports = victim.fabric.datagramPorts();
        List<byte[]> taken = new ArrayList<>();
        DatagramPorts.Receiver one = new DatagramPorts.Receiver() {
            @Override
            public boolean hasRoom(int bytes) {
                return taken.isEmpty();
            }

            @Override
            public void take(InetSocketAddress source, byte[] data) {
                taken.add(data);
                assertEquals(2, source.getPort());
            }
        };
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(),
                listener.localAddress().getPort());
        try (DatagramPorts.Port port = ports.open(address, one)) {
            int sent = 0;
            while (sent < 1000) {
                // Of three, one is for nobody.
                int target = sent % 3 == 0 ? 1 : address.getPort();
                if (attacker.send(LinkEnd.DATAGRAM, 4, -1, target | 2 << Short.SIZE, honest)) {
                    sent++;
                }
                attacker.link.writer().ringPeer();
                serve();
            }
            awaitServed("all but one to be dropped", () -> ports.dropped() == 999);
            assertEquals(1, taken.size());
            assertTrue(attacker.link.isOpen());
            assertTrue(ports.isOpen(), port::toString);
        }
        assertFalse(ports.isOpen());
    }

    @Test
    void aFaultInTheCodeOfALinkEndsThatLinkOnly() throws Exception {
        try (SharedMemoryEventPoller other = new SharedMemoryEventPoller(victim.fabric)) {
            LinkEnd end = new LinkEnd(victim.fabric, attacker.link);
            end.onEntry(attacker.link, null);
            assertFalse(attacker.link.isOpen());
            assertEquals(0, other.await(0, source -> { }));
        }
    }

    @Test
    void requestsThatAListenerDoesNotTakeAreForgotten() throws Exception {
        int before = victim.fabric.identifiers();
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
            assertTrue(victim.fabric.identifiers() < before + 2 * many, "the listener took all");
            clients.forEach(ConnectionIdentifier::close);
        }
        listener.close();
        assertEquals(before - 1, victim.fabric.identifiers());
    }
}
