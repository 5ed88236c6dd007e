package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Engine;

/**
 * How much memory a connection has registered: little when idle, more while busy, and little again after a pause. All
 * that this process has registered is counted, so nothing else runs beside.
 */
@Isolated
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RdmaSocketMemoryTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final long MOST_WHEN_IDLE = 64 << 10;
    private static final int BUFFER_BYTES = 256 << 10;
    /** In the place of the first byte of a buffer full: that none follows. */
    private static final int LAST = 1;

    @BeforeEach
    void needSharedMemory() {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("RdmaSocketMemoryTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
    }

    private static long registered() throws IOException {
        return Engine.of(Providers.sharedMemory()).registeredBytes();
    }

    /** A scenario with both ends of a connection. */
    private interface Script {
        void play(RdmaSocket client, RdmaSocket server, long before) throws Exception;
    }

    private static void connected(Script script) throws Exception {
        Await.until("connections of earlier tests are gone", () -> {
            System.gc(); // the cleaner closes sockets that they forgot
            return registered() == 0;
        }, () -> Engine.of(Providers.sharedMemory()));
        try (RdmaServerSocket listener = new RdmaServerSocket(); RdmaSocket client = new RdmaSocket()) {
            listener.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            listener.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
            listener.bind(new InetSocketAddress(LOOPBACK, 0));
            client.connect(listener.getLocalSocketAddress());
            try (RdmaSocket server = listener.accept()) {
                script.play(client, server, registered());
            }
        }
        Await.until("nothing is left", () -> registered() == 0);
    }

    @Test
    void anIdleConnectionHasLittle() throws Exception {
        connected((client, server, before) -> {
            assertTrue(before > 0, "the count sees them");
            assertTrue(before / 2 <= MOST_WHEN_IDLE, () -> before / 2 + " bytes for each end");
            for (int i = 0; i < 10_000; i++) {
                client.getOutputStream().write(1);
                assertEquals(1, server.getInputStream().read());
            }
            assertEquals(before, registered(), "small messages need no more");
        });
    }

    @Test
    void aBusyConnectionGetsMoreAndGivesItBackAfterAPause() throws Exception {
        connected((client, server, before) -> {
            for (int round = 0; round < 2; round++) {
                AtomicBoolean enough = new AtomicBoolean();
                Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write", () -> {
                    while (!enough.get()) {
                        client.getOutputStream().write(new byte[BUFFER_BYTES]);
                    }
                    client.getOutputStream().write(LAST);
                });
                Call<Void> read = Call.run(ThreadKind.VIRTUAL, "read", () -> {
                    while (server.getInputStream().read() != LAST) {
                        server.getInputStream().skipNBytes(BUFFER_BYTES - 1);
                    }
                });
                Await.until("it grows from " + before + " while it is busy",
                        () -> registered() >= before + BUFFER_BYTES);
                enough.set(true);
                write.result();
                read.result();
                Await.until("it shrinks again to " + before, () -> registered() <= before);
                assertEquals(before, registered());
            }
            client.getOutputStream().write(7);
            assertEquals(7, server.getInputStream().read());
        });
    }

    @Test
    void aConnectionShrinksAlsoWithReadersThatWait() throws Exception {
        connected((client, server, before) -> {
            client.getOutputStream().write(new byte[BUFFER_BYTES]);
            server.getInputStream().skipNBytes(BUFFER_BYTES);
            Call<Integer> there = Call.start(ThreadKind.VIRTUAL, "read", () -> server.getInputStream().read());
            Call<Integer> here = Call.start(ThreadKind.VIRTUAL, "read", () -> client.getInputStream().read());
            there.awaitBlocked();
            here.awaitBlocked();
            Await.until("it shrinks again to " + before, () -> registered() <= before);
            client.getOutputStream().write(1);
            server.getOutputStream().write(2);
            assertEquals(1, there.result());
            assertEquals(2, here.result());
        });
    }

    @Test
    void aWriterMayCountOnTheBuffersAlsoAfterAPauseAndIfNobodyReads() throws Exception {
        connected((client, server, before) -> {
            InputStream in = server.getInputStream();
            for (int round = 0; round < 2; round++) {
                Call.run(ThreadKind.VIRTUAL, "write", () -> client.getOutputStream().write(new byte[BUFFER_BYTES]))
                        .result();
                in.skipNBytes(BUFFER_BYTES);
                Await.until("it shrinks again to " + before, () -> registered() <= before);
            }
        });
    }

    @Test
    void buffersAreCountedAndUsedAgainAndFewAreKept() throws Exception {
        connected((client, server, before) -> {
            long address;
            try (RdmaBuffer buffer = client.allocateBuffer(5000)) {
                address = buffer.segment().address();
                assertEquals(before + 8192, registered());
            }
            assertEquals(before + 8192, registered());
            try (RdmaBuffer again = client.allocateBuffer(8000)) {
                assertEquals(address, again.segment().address());
            }
            RdmaBuffer[] many = new RdmaBuffer[30];
            for (int i = 0; i < many.length; i++) {
                many[i] = client.allocateBuffer(100_000);
            }
            for (RdmaBuffer buffer : many) {
                buffer.close();
                buffer.close();
            }
            long kept = registered() - before;
            assertTrue(kept <= 1 << 20, () -> kept + " bytes are kept");
        });
    }

    @Test
    void lentBytesOutliveTheirConnection() throws Exception {
        ReceivedBytes[] received = new ReceivedBytes[2];
        for (int i = 0; i < received.length; i++) {
            byte value = (byte) (i + 1);
            int index = i;
            connected((client, server, before) -> {
                client.getOutputStream().write(new byte[] {value, value});
                received[index] = server.receive();
            });
        }
        for (int i = 0; i < received.length; i++) {
            assertEquals(i + 1, received[i].segment().get(ValueLayout.JAVA_BYTE, 0));
            received[i].close();
        }
    }

    @Test
    void whatIsLeftToForgottenBytesIsFreed() throws Exception {
        long[] address = new long[1];
        connected((client, server, before) -> {
            client.getOutputStream().write(1);
            address[0] = server.receive().segment().address();
        });
        Await.until("the cleaner has freed them", () -> isGivenAgain(address[0]));
    }

    @Test
    void aPartOfLentBytesKeepsThemWithoutTheirView() throws Exception {
        MemorySegment[] kept = new MemorySegment[1];
        connected((client, server, before) -> {
            client.getOutputStream().write(new byte[] {1, 2, 3});
            kept[0] = server.receive().segment();
            kept[0] = kept[0].asSlice(kept[0].byteSize() - 1);
        });
        byte last = kept[0].get(ValueLayout.JAVA_BYTE, 0);
        whatIsLeftToForgottenBytesIsFreed(); // so the cleaner has seen that view, too
        assertFalse(isGivenAgain(kept[0].address()), "the slice keeps the ring");
        connected((client, server, before) -> {
            client.getOutputStream().write(new byte[20_000]);
            server.getInputStream().skipNBytes(20_000);
        });
        assertEquals(last, kept[0].get(ValueLayout.JAVA_BYTE, 0));
        long address = kept[0].address();
        kept[0] = null;
        Await.until("the cleaner has freed it", () -> isGivenAgain(address));
    }

    @Test
    void aMapIsFreedWhenNobodyCanReachItAndNotBefore() throws Exception {
        MemorySegment[] kept = new MemorySegment[1];
        connected((client, server, before) -> {
            kept[0] = client.map(5000, 0).segment().asSlice(10, 20);
            kept[0].fill((byte) 3);
            assertEquals(before + 8192, registered());
        });
        long address = kept[0].address();
        for (int i = 0; i < 5; i++) {
            assertFalse(isMappedAgain(address), "the slice keeps the map");
        }
        assertEquals(3, kept[0].get(ValueLayout.JAVA_BYTE, 19));
        kept[0] = null;
        Await.until("the cleaner has freed it", () -> isMappedAgain(address));
    }

    /** Whether a further connection gets the ring that an address was in. */
    private static boolean isGivenAgain(long address) throws Exception {
        boolean[] given = new boolean[1];
        System.gc();
        connected((client, server, before) -> {
            client.getOutputStream().write(1);
            server.getOutputStream().write(1);
            for (RdmaSocket end : List.of(client, server)) {
                try (ReceivedBytes bytes = end.receive()) {
                    given[0] |= Math.abs(bytes.segment().address() - address) < 4096;
                }
            }
        });
        return given[0];
    }

    /** Whether a further map gets the memory of an address. */
    private static boolean isMappedAgain(long address) throws Exception {
        boolean[] mapped = new boolean[1];
        System.gc();
        connected((client, server, before) -> {
            try (RdmaBuffer map = client.map(5000, 0)) {
                mapped[0] = Math.abs(map.segment().address() - address) < 4096;
            }
        });
        return mapped[0];
    }
}
