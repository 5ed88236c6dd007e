package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.verbs.AccessFlag;

/** Local regions: size, alignment, access, slices, end. */
abstract class EndpointRegionContract extends EndpointContract {
    @Test
    void regionsAreZeroedAndAlignedAndOfTheirSize() throws Exception {
        RdmaEndpoint endpoint = connect().client();
        for (MemoryStrategy strategy : MemoryStrategy.values()) {
            RdmaEndpoint own = connect(builder().memory(strategy), builder()).client();
            for (long size : new long[] {1, 100, 4096, 300_000, 5_000_000}) {
                for (long alignment : new long[] {1, 64, 4096, 1 << 16}) {
                    try (LocalRegion region = own.allocate(size, alignment)) {
                        assertEquals(size, region.length());
                        assertEquals(size, region.segment().byteSize());
                        assertEquals(0, region.segment().address() % alignment);
                        assertEquals(-1, region.segment().mismatch(MemorySegment.ofArray(new byte[(int) size])));
                        region.segment().fill((byte) 1); // the next owner finds zeros again
                    }
                }
            }
        }
        assertThrows(IllegalArgumentException.class, () -> endpoint.allocate(0));
        assertThrows(IllegalArgumentException.class, () -> endpoint.allocate(-1));
        assertThrows(IllegalArgumentException.class, () -> endpoint.allocate(10, 3));
        assertThrows(IllegalArgumentException.class, () -> endpoint.allocate(10, 0));
    }

    /** async-rdma: slices of 0..0, reversed and one past the end fail. */
    @Test
    void slicesAreWithinTheirRegion() throws Exception {
        RdmaEndpoint endpoint = connect().client();
        LocalRegion region = endpoint.allocate(100, 1, READ_WRITE);
        RemoteRegion remote = region.remote();
        for (long[] bad : new long[][] {{0, 0}, {5, -1}, {0, 101}, {100, 1}, {-1, 5}, {99, 2}, {1, Long.MAX_VALUE}}) {
            assertThrows(IndexOutOfBoundsException.class, () -> region.slice(bad[0], bad[1]));
            assertThrows(IndexOutOfBoundsException.class, () -> remote.slice(bad[0], bad[1]));
        }
        LocalRegion part = region.slice(10, 90).slice(20, 70);
        part.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 7);
        assertEquals(7, region.segment().get(ValueLayout.JAVA_BYTE, 30));
        assertEquals(remote.address() + 30, part.remote().address());
        assertEquals(remote.slice(30, 70), part.remote());
        part.close();
        assertEquals(7, region.segment().get(ValueLayout.JAVA_BYTE, 30));
    }

    @Test
    void bytesAreCopiedIntoARegionAndOutOfItUntilItIsClosed() throws Exception {
        RdmaEndpoint endpoint = connect().client();
        LocalRegion region = endpoint.allocate(100);
        LocalRegion part = region.slice(10, 20);
        byte[] bytes = {1, 2, 3, 4};
        part.put(17, bytes, 3);
        part.put(20, bytes, 0);
        byte[] expected = new byte[100];
        System.arraycopy(bytes, 0, expected, 27, 3);
        assertEquals(-1, region.segment().mismatch(MemorySegment.ofArray(expected)));
        assertThrows(IndexOutOfBoundsException.class, () -> part.put(18, bytes, 3));
        assertThrows(IndexOutOfBoundsException.class, () -> part.put(-1, bytes, 3));
        assertThrows(IndexOutOfBoundsException.class, () -> part.put(0, bytes, 5));
        assertThrows(IndexOutOfBoundsException.class, () -> part.get(18, bytes, 0, 3));
        assertThrows(IndexOutOfBoundsException.class, () -> part.get(0, bytes, 2, 3));
        assertThrows(IndexOutOfBoundsException.class, () -> part.get(0, bytes, -1, 2));
        RangeLocks.Hold sent = part.hold(false, "send");
        assertThrows(RegionBusyException.class, () -> region.put(29, bytes, 1));
        region.put(30, bytes, 4);
        region.put(20, bytes, 0);
        byte[] got = new byte[4];
        part.get(17, got, 1, 3);
        assertArrayEquals(new byte[] {0, 1, 2, 3}, got);
        sent.release();
        RangeLocks.Hold read = part.hold(true, "read");
        assertThrows(RegionBusyException.class, () -> region.get(29, bytes, 0, 1));
        region.get(20, bytes, 0, 0);
        read.release();
        part.put(0, bytes, 4);
        region.close();
        assertThrows(IllegalStateException.class, () -> part.put(0, bytes, 4));
        assertThrows(IllegalStateException.class, () -> part.get(0, bytes, 0, 4));
    }

    /** ibverbs-rs: bounds and overflow of remote regions. */
    @Test
    void remoteRegionsDoNotWrapAround() {
        assertThrows(IllegalArgumentException.class, () -> RemoteRegion.of(-1, 2, 0));
        assertThrows(IllegalArgumentException.class, () -> RemoteRegion.of(0, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> RemoteRegion.of(0, -5, 0));
        assertEquals(1, RemoteRegion.of(-1, 1, 0).length());
    }

    @Test
    void aClosedRegionThrows() throws Exception {
        Pair pair = connect();
        for (LocalRegion region : new LocalRegion[] {pair.client().allocate(64), open(pair.client(), 64)}) {
            MemorySegment segment = region.segment();
            region.close();
            region.close();
            assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
            assertThrows(IllegalStateException.class, region::segment);
            assertThrows(IllegalStateException.class, () -> pair.client().send(region));
        }
    }

    @Test
    void regionsEndWithTheirEndpoint() throws Exception {
        Pair pair = connect();
        LocalRegion region = pair.client().allocate(64);
        MemorySegment segment = region.segment();
        pair.client().close();
        Await.until("the region ends", () -> !segment.scope().isAlive());
        refused(EndpointException.Reason.CLOSED, "closed", () -> pair.client().allocate(64));
    }

    /** Memory that the kernel may still write to is not reused. */
    @Test
    void aRegionThatIsBeingReadIntoEndsAfterThat() throws Exception {
        Pair pair = connect();
        Pipe pipe = Pipe.open();
        closing(pipe.source());
        closing(pipe.sink());
        LocalRegion region = pair.client().allocate(64);
        MemorySegment segment = region.segment();
        Call<Integer> read = Call.start(ThreadKind.PLATFORM, "read",
                () -> pipe.source().read(segment.asByteBuffer())).awaitBlocked();
        pair.client().close();
        int[] tries = new int[1];
        Await.until("200 refusals", () -> {
            assertThrows(IllegalStateException.class, region::close);
            return ++tries[0] == 200;
        });
        assertTrue(segment.scope().isAlive());
        pipe.sink().write(ByteBuffer.wrap(new byte[] {1, 2, 3}));
        assertEquals(3, read.result());
        Await.until("the region ends", () -> !segment.scope().isAlive());
    }

    @Test
    void aRegionThatNoPeerMayReachHasNoRemoteSide() throws Exception {
        RdmaEndpoint endpoint = connect().client();
        IllegalStateException e = assertThrows(IllegalStateException.class, () -> endpoint.allocate(8).remote());
        assertTrue(e.getMessage().contains("REMOTE_READ"), e::getMessage);
        LocalRegion region = endpoint.allocate(8, 8, Set.of(AccessFlag.REMOTE_WRITE));
        assertEquals(Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE), region.access());
        assertTrue(region.isReadable() && region.isWritable());
        assertFalse(region.remote().access().contains(AccessFlag.REMOTE_READ));
    }
}
