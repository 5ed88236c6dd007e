package org.rdmasockets.internal.datagram;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.DatagramPorts;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.CompletionQueue;

/** Sockets that end: those who wait in them hear of it. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class DatagramWaysTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    /** Without UDP, which none of these needs. */
    private static DatagramWays ways(InetSocketAddress address, DatagramInbox inbox) {
        return new DatagramWays(address, DatagramWays.PortKind.CHOSEN, inbox, new DatagramWays.Udp() {
            @Override
            public void send(byte[] data, InetSocketAddress destination) {
                throw new AssertionError("over UDP");
            }

            @Override
            public void startReading() {
                throw new AssertionError("from UDP");
            }
        });
    }

    private static InetSocketAddress address() throws IOException {
        return new InetSocketAddress(LOOPBACK, FreePorts.next(LOOPBACK));
    }

    @Test
    void aSenderThatWaitsForRoomIsEndedByTheCloseOfItsOwnSocket() throws Exception {
        DatagramInbox full = new DatagramInbox(0, TimeUnit.MINUTES.toNanos(1));
        InetSocketAddress to = address();
        DatagramWays sending = ways(address(), new DatagramInbox(1));
        try (DatagramWays _ = ways(to, full)) {
            MemorySegment data = MemorySegment.ofArray(new byte[1]);
            sending.send(null, to, data, true);
            FutureTask<DatagramWays.Sent> second = new FutureTask<>(() -> sending.send(null, to, data, true));
            Thread sender = Thread.ofPlatform().start(second);
            Await.until("the sender waits", () -> sender.getState() == Thread.State.TIMED_WAITING);
            sending.close();
            Throwable end = assertThrows(ExecutionException.class, second::get).getCause();
            assertEquals("Socket closed", assertInstanceOf(SocketException.class, end).getMessage());
        } finally {
            sending.close();
        }
    }

    /** Else as many closes as there are sockets would take the square of that. */
    @Test
    void aCloseVisitsNoOtherPort() throws Exception {
        AtomicInteger visits = new AtomicInteger();
        Thread closing = Thread.currentThread();
        DatagramPorts.Receiver other = new DatagramPorts.Receiver() {
            private void visit() {
                if (Thread.currentThread() == closing) { // the poller may tell of other tests' links
                    visits.incrementAndGet();
                }
            }

            @Override
            public boolean hasRoom(int bytes, Runnable taken) {
                visit();
                return false;
            }

            @Override
            public boolean awaitRoom(int bytes, DatagramPorts.Sender sender) {
                visit();
                return false;
            }

            @Override
            public void take(InetSocketAddress source, byte[] data, Runnable taken) {
                visit();
            }

            @Override
            public void lookAgain() {
                visit();
            }
        };
        InetSocketAddress to = address();
        DatagramWays sending = ways(address(), new DatagramInbox(1));
        SharedMemoryProvider provider = (SharedMemoryProvider) Providers.sharedMemory();
        CompletionQueue queue = provider.open(provider.devices().getFirst().name()).createCompletionQueue(1, null);
        try (DatagramPorts.Port _ = provider.datagramPorts().open(to, other, queue)) {
            sending.send(null, to, MemorySegment.ofArray(new byte[1]), true);
            assertEquals(1, visits.get(), "the send's");
            sending.close();
            assertEquals(1, visits.get());
        } finally {
            sending.close();
        }
    }

    @Test
    void aReceiverHearsThatUdpIsReadNoMore() throws Exception {
        try (RdmaDatagramSocket socket = new RdmaDatagramSocket() {
            @Override
            public boolean isClosed() {
                if (Thread.currentThread().getName().startsWith("rdma-udp")) {
                    throw new IllegalStateException("of a test");
                }
                return super.isClosed();
            }
        }) {
            socket.setSoTimeout(40_000);
            IOException end = assertThrows(IOException.class,
                    () -> socket.receive(new DatagramPacket(new byte[1], 1)));
            assertTrue(end.getMessage().contains("of a test"), end::toString);
        }
    }
}
