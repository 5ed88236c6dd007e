package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaBuffer;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;

/** RDMA sockets map memory, and write into memory that their peer has mapped. */
@RunIn({Place.SHARED_MEMORY, Place.LINK, Place.DEVICE})
class MapContractTest extends RdmaContract {
    private static final int MAPS = 3;

    /** Each takes so many maps of the other. */
    private Ends ends(int clientMaps, int serverMaps) throws IOException {
        ServerSocket listener = serverSocket();
        listener.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, serverMaps);
        listener.bind(new InetSocketAddress(fixture().address(), 0));
        RdmaSocket client = (RdmaSocket) socket();
        client.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, clientMaps);
        client.connect(addressOf(listener));
        Ends ends = new Ends(client, (RdmaSocket) acceptFrom(listener));
        assertEquals(serverMaps, ends.server().getOption(RdmaSocketOptions.RDMA_IOMAPSIZE));
        listener.close();
        return ends;
    }

    /** The peer tells, over the stream, that it has done what it had to do before. */
    private static void tell(RdmaSocket from, RdmaSocket to) throws IOException {
        from.getOutputStream().write(1);
        assertEquals(1, to.getInputStream().read());
    }

    private static RdmaBuffer filled(RdmaSocket socket, byte[] bytes) throws IOException {
        RdmaBuffer buffer = socket.allocateBuffer(bytes.length);
        buffer.segment().copyFrom(MemorySegment.ofArray(bytes));
        return buffer;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 64, 5000, 65_537, 1_000_000})
    void bytesAreThereWhenTheStreamSaysSo(int length) throws Exception {
        Ends ends = ends(MAPS, MAPS);
        byte[] sent = bytes(length);
        for (RdmaSocket[] way : new RdmaSocket[][] {{ends.client(), ends.server()}, {ends.server(), ends.client()}}) {
            RdmaSocket writer = way[0];
            RdmaSocket owner = way[1];
            try (RdmaBuffer target = owner.map(length + 10, 1L << 40); RdmaBuffer source = filled(writer, sent)) {
                assertEquals(length + 10, target.segment().byteSize());
                tell(owner, writer);
                writer.place((1L << 40) + 7, source, 0, length);
                source.segment().fill((byte) '?');
                tell(writer, owner);
                assertArrayEquals(sent, target.segment().asSlice(7, length).toArray(ValueLayout.JAVA_BYTE));
                assertEquals(0, target.segment().get(ValueLayout.JAVA_BYTE, 6));
                assertEquals(0, target.segment().get(ValueLayout.JAVA_BYTE, length + 7));
            }
            tell(owner, writer);
        }
    }

    @Test
    void mapsAndStreamsDoNotDisturbEachOther() throws Exception {
        Ends ends = ends(2, 0);
        int length = 10_000;
        int rounds = 50;
        RdmaBuffer low = ends.server().map(length, 0);
        RdmaBuffer high = ends.server().map(length, length);
        Call<Void> reader = Call.run(ThreadKind.VIRTUAL, "read", () -> {
            ends.server().getOutputStream().write(0);
            for (int round = 1; round <= rounds; round++) {
                byte[] message = ends.server().getInputStream().readNBytes(1000);
                for (byte b : message) {
                    assertEquals((byte) round, b);
                }
                for (RdmaBuffer half : new RdmaBuffer[] {low, high}) {
                    for (byte b : half.segment().toArray(ValueLayout.JAVA_BYTE)) {
                        assertEquals((byte) round, b, "in round " + round);
                    }
                }
                ends.server().getOutputStream().write(round);
            }
        });
        assertEquals(0, ends.client().getInputStream().read());
        RdmaBuffer source = ends.client().allocateBuffer(2 * length);
        for (int round = 1; round <= rounds; round++) {
            source.segment().fill((byte) round);
            ends.client().place(0, source, 0, 2 * length);
            ends.client().write(source, 0, 1000);
            assertEquals(round, ends.client().getInputStream().read());
        }
        reader.result();
    }

    @Test
    void whatIsMappedCanBeWrittenFrom() throws Exception {
        Ends ends = ends(1, 0);
        RdmaBuffer mapped = ends.server().map(3, 0);
        mapped.segment().fill((byte) 5);
        ends.server().write(mapped, 0, 3);
        assertArrayEquals(new byte[] {5, 5, 5}, ends.client().getInputStream().readNBytes(3));
    }

    @Test
    void whatIsClosedIsMappedNoMore() throws Exception {
        Ends ends = ends(0, 1);
        RdmaBuffer source = ends.server().allocateBuffer(10);
        for (int round = 0; round < 20; round++) {
            RdmaBuffer target = ends.client().map(10, round);
            tell(ends.client(), ends.server());
            ends.server().place(round, source, 0, 10);
            tell(ends.server(), ends.client());
            MemorySegment segment = target.segment();
            target.close();
            target.close();
            assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
            assertThrows(IllegalStateException.class, target::segment);
            assertThrows(IllegalStateException.class, () -> ends.client().write(target, 0, 1));
            tell(ends.client(), ends.server());
            int at = round;
            assertThrows(SocketException.class, () -> ends.server().place(at, source, 0, 10));
            tell(ends.server(), ends.client());
        }
    }

    @Test
    void thePeerSaysHowManyMapsItTakes() throws Exception {
        Ends ends = ends(2, 0);
        RdmaBuffer source = ends.server().allocateBuffer(1);
        assertTrue(assertThrows(SocketException.class, () -> ends.client().map(1, 0)).getMessage()
                .contains("RDMA_IOMAPSIZE"));
        ends.server().map(1, 0);
        RdmaBuffer second = ends.server().map(1, 1);
        assertThrows(SocketException.class, () -> ends.server().map(1, 2));
        second.close();
        ends.server().map(1, 2);
        assertThrows(SocketException.class, () -> ends.server().place(0, source, 0, 1));
        tell(ends.server(), ends.client());
        tell(ends.client(), ends.server());
    }

    @Test
    void whatIsWrongIsRefused() throws Exception {
        assertThrows(NotYetConnectedException.class, () -> ((RdmaSocket) socket()).map(1, 0));
        Ends ends = ends(MAPS, MAPS);
        ends.client().map(100, 100);
        assertThrows(IllegalArgumentException.class, () -> ends.client().map(10, 199));
        assertThrows(IllegalArgumentException.class, () -> ends.client().map(0, 0));
        assertThrows(IllegalArgumentException.class, () -> ends.client().map(1, -1));
        assertThrows(IllegalArgumentException.class, () -> ends.client().map(2, Long.MAX_VALUE));
        tell(ends.client(), ends.server());
        RdmaBuffer source = ends.server().allocateBuffer(100);
        assertThrows(IllegalArgumentException.class, () -> ends.server().place(-1, source, 0, 1));
        assertThrows(IndexOutOfBoundsException.class, () -> ends.server().place(100, source, 1, 100));
        assertThrows(IllegalArgumentException.class, () -> ends.client().place(0, source, 0, 1));
        for (long at : new long[] {0, 99, 101, 200}) {
            assertThrows(SocketException.class, () -> ends.server().place(at, source, 0, 100));
        }
        ends.server().place(100, source, 0, 100);
        source.close();
        assertThrows(IllegalStateException.class, () -> ends.server().place(100, source, 0, 1));
        tell(ends.server(), ends.client());
    }

    @Test
    void aMapThatIsInUseStaysOpenAndIsClosedLater() throws Exception {
        Ends ends = ends(1, 0);
        RdmaBuffer mapped = ends.server().map(2, 0);
        Borrowed.during(mapped.segment(), () -> assertThrows(IllegalStateException.class, mapped::close));
        mapped.segment().fill((byte) 5);
        assertThrows(IllegalArgumentException.class, () -> ends.server().map(2, 0));
        mapped.close();
        mapped.close();
        assertThrows(IllegalStateException.class, mapped::segment);
        ends.server().map(2, 0);
    }

    @Test
    void aMapThatIsForgottenEnds() throws Exception {
        Ends ends = ends(1, 0);
        ends.server().map(1000, 0);
        Await.until("its offsets are free", () -> {
            System.gc();
            try {
                ends.server().map(10, 999);
                return true;
            } catch (IllegalArgumentException e) {
                return false;
            }
        });
    }

    @Test
    void aMapOutlivesItsSocketAsMemory() throws Exception {
        Ends ends = ends(1, 0);
        RdmaBuffer mapped = ends.server().map(1000, 0);
        mapped.segment().fill((byte) 7);
        ends.client().close();
        ends.server().setSoLinger(true, 0);
        ends.server().close();
        // Others would take the memory now.
        Ends others = ends(1, 0);
        RdmaBuffer other = others.server().map(1000, 0);
        other.segment().fill((byte) 8);
        assertEquals(7, mapped.segment().get(ValueLayout.JAVA_BYTE, 999));
        mapped.segment().fill((byte) 9);
        assertEquals(8, other.segment().get(ValueLayout.JAVA_BYTE, 999));
        assertThrows(ClosedChannelException.class, () -> ends.server().map(1, 1));
        mapped.close();
        assertThrows(IllegalStateException.class, mapped::segment);
        assertEquals(8, other.segment().get(ValueLayout.JAVA_BYTE, 0));
    }
}
