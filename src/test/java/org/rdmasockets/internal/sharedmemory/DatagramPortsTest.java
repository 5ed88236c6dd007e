package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.verbs.EventPoller;

/** Ports of datagrams that change hands, and senders of other processes that wait for receivers. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class DatagramPortsTest {
    /** Takes all, for the senders of the last. */
    private record Taken(List<byte[]> all, AtomicReference<DatagramPorts.Origin> last)
            implements DatagramPorts.Receiver {
        Taken() {
            this(new ArrayList<>(), new AtomicReference<>());
        }

        @Override
        public boolean hasRoom(int bytes) {
            return true;
        }

        @Override
        public void take(InetSocketAddress source, byte[] data, DatagramPorts.Origin origin) {
            all.add(data);
            last.set(origin);
        }
    }

    private static int freePort() throws Exception {
        try (DatagramSocket socket = new DatagramSocket()) {
            return socket.getLocalPort();
        }
    }

    private static MemorySegment data(int value) {
        return MemorySegment.ofArray(new byte[] {(byte) value});
    }

    /** Nothing takes entries out of the ring while the port changes hands. */
    @Test
    void whatAPortsFormerUserWasSentDoesNotComeToTheNextOne() throws Exception {
        SharedMemoryProvider provider = new SharedMemoryProvider(true);
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), freePort());
        Taken first = new Taken();
        Taken second = new Taken();
        DatagramPorts ports = provider.datagramPorts();
        try (EventPoller poller = provider.createEventPoller()) {
            DatagramPorts.Port former = ports.open(address, first);
            DatagramPorts.Route route = ports.route(address);
            Await.until("the way to the port", () -> {
                poller.await(10, source -> { });
                return route.await(0);
            });
            route.send(address, data(1));
            Await.until("the first datagram", () -> {
                poller.await(10, source -> { });
                return !first.all().isEmpty();
            });
            route.send(address, data(2));
            former.close();
            DatagramPorts.Port next = ports.open(address, second);
            try {
                route.send(address, data(3));
                Await.until("a datagram for the next user", () -> {
                    poller.await(10, source -> { });
                    return !second.all().isEmpty();
                });
            } finally {
                next.close();
            }
            assertEquals(1, first.all().size());
            assertEquals(1, second.all().size(), "one was meant for the former user");
            assertArrayEquals(new byte[] {3}, second.all().getFirst());
        }
    }

    /** The way to a receiver, after a first datagram has gone there. */
    private static DatagramPorts.Route way(DatagramPorts ports, EventPoller poller, Taken receiver,
            InetSocketAddress address) throws Exception {
        DatagramPorts.Route route = ports.route(address);
        Await.until("the way to the port", () -> {
            poller.await(10, source -> { });
            return route.await(0);
        });
        route.send(address, data(0));
        awaitTaken(poller, receiver, 1);
        return route;
    }

    private static void awaitTaken(EventPoller poller, Taken receiver, int many) throws Exception {
        Await.until(many + " datagrams", () -> {
            poller.await(10, source -> { });
            return receiver.all().size() == many;
        });
    }

    @Test
    void senderHasRoomAgainWhenTheReceiverHasTakenSome() throws Exception {
        SharedMemoryProvider provider = new SharedMemoryProvider(true);
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), freePort());
        Taken receiver = new Taken();
        DatagramPorts ports = provider.datagramPorts();
        try (EventPoller poller = provider.createEventPoller();
                DatagramPorts.Port _ = ports.open(address, receiver)) {
            DatagramPorts.Route route = way(ports, poller, receiver, address);
            int sent = 0;
            while (route.hasRoom(1)) {
                route.send(address, data(0));
                sent++;
            }
            assertTrue(sent > 100, "a burst of " + sent);
            awaitTaken(poller, receiver, sent + 1);
            assertFalse(route.hasRoom(1));
            for (int i = 0; i < sent / 2 + 1; i++) {
                receiver.last().get().taken(DatagramPorts.cost(1));
            }
            Await.until("room", () -> {
                poller.await(10, source -> { });
                return route.hasRoom(1);
            });
            while (route.hasRoom(1)) {
                sent++;
            }
            assertTrue(route.awaitRoom(1, 1));
            assertTrue(route.hasRoom(1), "no sender waits any more for one that does not read");
        }
    }

    @Test
    void datagramsThatCameWithoutARingAreTakenByTheThreadThatWatchedForThem() throws Exception {
        SharedMemoryProvider provider = new SharedMemoryProvider(true);
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), freePort());
        Taken receiver = new Taken();
        DatagramPorts ports = provider.datagramPorts();
        try (EventPoller poller = provider.createEventPoller();
                DatagramPorts.Port _ = ports.open(address, receiver)) {
            DatagramPorts.Route route = way(ports, poller, receiver, address);
            ports.beginWatch();
            route.send(address, data(1));
            poller.await(0, source -> { });
            assertEquals(1, receiver.all().size(), "it was rung for a thread that looks itself");
            ports.look(1);
            assertEquals(2, receiver.all().size());
            route.send(address, data(2));
            ports.endWatch();
            assertEquals(3, receiver.all().size());
            route.send(address, data(3));
            awaitTaken(poller, receiver, 4);
        }
    }
}
