package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.verbs.EventPoller;

/** Ports of datagrams that change hands. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class DatagramPortsTest {
    /** Takes all. */
    private record Taken(List<byte[]> all) implements DatagramPorts.Receiver {
        @Override
        public boolean hasRoom(int bytes) {
            return true;
        }

        @Override
        public void take(InetSocketAddress source, byte[] data) {
            all.add(data);
        }

        @Override
        public void linkEnded() {
            throw new AssertionError("no link ends here");
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
        Taken first = new Taken(new ArrayList<>());
        Taken second = new Taken(new ArrayList<>());
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
}
