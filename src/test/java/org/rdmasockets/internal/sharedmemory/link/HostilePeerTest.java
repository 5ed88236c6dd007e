package org.rdmasockets.internal.sharedmemory.link;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.ffi.Descriptors;
import org.rdmasockets.internal.ffi.PageSize;
import org.rdmasockets.verbs.VerbsException;

/**
 * A victim with an honest link, and intruders that do what they like. Each loses its own link, with a reason; the
 * honest link loses nothing, and no descriptor or mapping is left.
 */
@SuppressWarnings("try")
@Isolated
class HostilePeerTest {
    private static final long SEED = 20260101;
    private static final int ALL_SEALS = Descriptors.SHRINK | Descriptors.GROW | Descriptors.SEAL;

    private Node victim;
    private LinkListener listener;
    private InetSocketAddress address;
    private Node friend;
    private Recorder honest;
    private Recorder honestAtVictim;
    private int sent;
    private long descriptorsBefore;
    private long mappingsBefore;

    @BeforeEach
    void start() throws Exception {
        victim = new Node();
        listener = victim.listen();
        address = listener.address();
        friend = new Node();
        honest = friend.dial(address);
        honestAtVictim = victim.nextLink();
        assertHonestLinkWorks();
        try (ServerSocket first = new ServerSocket(0); Socket client = new Socket("localhost", first.getLocalPort())) {
            first.accept().close(); // the JDK keeps a descriptor from its first socket on
        }
        descriptorsBefore = Descriptors.openCount();
        mappingsBefore = Descriptors.sharedMappings();
    }

    @AfterEach
    void nothingIsLostAndNothingIsLeft() throws Exception {
        assertHonestLinkWorks();
        Await.until("descriptors to be closed", () -> Descriptors.openCount() <= descriptorsBefore);
        Await.until("memory to be freed", () -> Descriptors.sharedMappings() <= mappingsBefore);
        honest.link.close();
        honestAtVictim.link.close();
        friend.close();
        victim.close();
    }

    private void assertHonestLinkWorks() throws InterruptedException {
        byte[] payload = new byte[1000];
        new Random(sent).nextBytes(payload);
        assertTrue(honest.send(1, sent, 0, payload));
        Recorder.Copy copy = honestAtVictim.next();
        assertEquals(sent, copy.slot());
        assertArrayEquals(payload, copy.payload());
        assertTrue(honestAtVictim.send(2, sent, 0, payload));
        assertEquals(sent, honest.next().slot());
        sent++;
    }

    @Test
    void packetsThatAreNoGreetingEndTheConversation() throws Exception {
        Random random = new Random(SEED);
        for (int bytes : new int[] {1, 2, LinkPacket.BYTES - 1, LinkPacket.BYTES, LinkPacket.BYTES + 1, 128}) {
            try (Intruder intruder = new Intruder(address)) {
                for (int i = 0; i < bytes; i++) {
                    intruder.buffer.packet().put(i, (byte) random.nextInt());
                }
                intruder.send(bytes, -1);
                intruder.awaitDropped();
            }
        }
    }

    @Test
    void anotherVersionIsAnsweredAndThenDropped() throws Exception {
        try (Intruder intruder = new Intruder(address)) {
            intruder.greet(LinkPacket.VERSION + 1);
            intruder.awaitDropped();
        }
    }

    @Test
    void linkMemoryThatIsNotWhatItHasToBeIsRefused() throws Exception {
        List<Integer> wrong = List.of(Descriptors.open("/dev/null"), Descriptors.open("/dev/zero"),
                Descriptors.memory(SegmentLayout.BYTES, 0),
                Descriptors.memory(SegmentLayout.BYTES, Descriptors.SHRINK | Descriptors.GROW),
                Descriptors.memory(SegmentLayout.BYTES - 4096, ALL_SEALS),
                Descriptors.memory(SegmentLayout.BYTES, ALL_SEALS | Descriptors.WRITE));
        for (int descriptor : wrong) {
            try (Intruder intruder = new Intruder(address)) {
                intruder.greet(LinkPacket.VERSION);
                intruder.sendAndClose(LinkPacket.SEGMENT, descriptor);
            }
        }
        assertEquals(0, victim.unclaimedLinks());
    }

    @Test
    void aDescriptorWhereNoneBelongsOrNoneWhereOneBelongsIsRefused() throws Exception {
        try (Intruder intruder = new Intruder(address)) {
            intruder.sendAndClose(LinkPacket.HELLO, Descriptors.open("/dev/null"));
        }
        try (Intruder intruder = new Intruder(address)) {
            intruder.greet(LinkPacket.VERSION);
            LinkPacket.write(intruder.buffer, LinkPacket.SEGMENT, 0, 0);
            intruder.send(LinkPacket.BYTES, -1);
            intruder.awaitDropped();
        }
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            intruder.sendAndClose(LinkPacket.RETRACT, Descriptors.open("/dev/null"));
            assertDead(end, "no meaning");
        }
    }

    private static void assertDead(Recorder end, String reason) throws Exception {
        String told = end.awaitClosed();
        assertTrue(told.contains(reason), told);
        assertFalse(end.link.isOpen());
        assertFalse(end.send(1, 1, 1, new byte[1]));
        end.link.close();
    }

    @Test
    void manyWhoConnectAndSayNothingDoNotKeepOthersOut() throws Exception {
        List<Intruder> silent = new ArrayList<>();
        try (Node late = new Node()) {
            for (int i = 0; i < 400; i++) {
                silent.add(new Intruder(address));
            }
            Recorder end = late.dial(address);
            Recorder atVictim = victim.nextLink();
            assertTrue(end.send(1, 1, 1, new byte[1]));
            assertEquals(1, atVictim.next().slot());
            end.link.close();
            atVictim.link.close();
            silent.getFirst().awaitDropped();
        } finally {
            silent.forEach(Intruder::close);
        }
    }

    /** The close of such a descriptor lasts ten minutes, and no other link waits for that. */
    @Test
    void descriptorsWhoseCloseLastsHoldUpNobody() throws Exception {
        try (ServerSocket sink = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            try (Intruder intruder = new Intruder(address)) {
                intruder.sendAndClose(LinkPacket.HELLO, Descriptors.lingering(sink.getLocalPort()));
                assertHonestLinkWorks();
            }
            try (Intruder intruder = new Intruder(address)) {
                intruder.greet(LinkPacket.VERSION);
                intruder.sendAndClose(LinkPacket.SEGMENT, Descriptors.lingering(sink.getLocalPort()));
                assertHonestLinkWorks();
            }
            try (Intruder intruder = Intruder.linked(address)) {
                Recorder end = victim.nextLink();
                int descriptor = Descriptors.lingering(sink.getLocalPort());
                intruder.announce(1, 4096, descriptor);
                Descriptors.closeSometime(descriptor);
                assertDead(end, "sealed");
                assertHonestLinkWorks();
            }
            // Not even read: the packets go with the socket.
            try (Intruder intruder = Intruder.linked(address)) {
                Recorder end = victim.nextLink();
                end.link.fail("for the test");
                intruder.sendUnread(Descriptors.lingering(sink.getLocalPort()));
                end.awaitClosed();
                end.link.close();
                assertHonestLinkWorks();
            }
            assertHonestLinkWorks();
            Node late = new Node();
            late.dial(address).link.close();
            victim.nextLink().link.close();
            late.close();
            List<Socket> ends = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                ends.add(sink.accept());
            }
            for (Socket end : ends) {
                end.setSoLinger(true, 0);
                end.close();
            }
        }
    }

    @Test
    void aProcessWithManyLinksGetsNoMore() throws Exception {
        List<Intruder> intruders = new ArrayList<>();
        List<Recorder> ends = new ArrayList<>();
        try {
            // The friend's link counts as well: all are of this process.
            for (int i = 1; i < LinkHub.MOST_LINKS_OF_PROCESS; i++) {
                intruders.add(Intruder.linked(address));
                ends.add(victim.nextLink());
            }
            try (Intruder last = new Intruder(address)) {
                last.awaitDropped();
            }
            assertHonestLinkWorks();
            ends.removeLast().link.close();
            intruders.removeLast().close();
            Await.until("a place to be free again", () -> {
                try (Intruder next = Intruder.linked(address)) {
                    victim.nextLink().link.close();
                    return true;
                } catch (AssertionError e) {
                    return false;
                }
            });
        } finally {
            intruders.forEach(Intruder::close);
            ends.forEach(end -> end.link.close());
        }
    }

    @Test
    void theSameMemoryAnnouncedOverManyLinksTakesNeitherTheMappingsNorTheAddressesOfTheProcess() throws Exception {
        long before = mappings();
        int descriptor = Descriptors.memory(RegionMemory.totalBytes(4096), ALL_SEALS);
        List<Intruder> intruders = new ArrayList<>();
        List<Recorder> ends = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                Intruder intruder = Intruder.linked(address);
                intruders.add(intruder);
                Recorder end = victim.nextLink();
                ends.add(end);
                int last = i == 0 ? Link.MOST_REGIONS - 1 : 1000;
                for (int key = 0; key <= last; key++) {
                    intruder.announceSurely(key, 4096, descriptor);
                }
                Await.until("the last announcement", () -> end.link.peerRegion(last) != null);
            }
            long during = mappings();
            assertTrue(during - before < PeerRegion.MOST_OF_PROCESS + 1000, () -> before + " mappings, now " + during);
            assertTrue(ends.getFirst().link.peerRegion(0).segment().address() != 0, "the first region is mapped");
            assertEquals(0, ends.getLast().link.peerRegion(0).segment().address(), "what is too much is not");
        } finally {
            intruders.forEach(Intruder::close);
            ends.forEach(end -> end.link.close());
            Descriptors.close(descriptor);
        }
        assertHonestLinkWorks();
        long after = mappings();
        assertTrue(after - before < 1000, () -> before + " mappings, then " + after);
    }

    private static long mappings() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.count();
        }
    }

    @Test
    void aSlabOfAnotherSizeEndsTheLink() throws Exception {
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            LinkPacket.write(intruder.buffer, LinkPacket.ANNOUNCE, 1, PageSize.BYTES);
            LinkPacket.writeRegion(intruder.buffer, 4096, 0, Slabs.TAG);
            int descriptor = Descriptors.memory(RegionMemory.totalBytes(4096), ALL_SEALS);
            intruder.send(LinkPacket.BYTES, descriptor);
            Descriptors.close(descriptor);
            assertDead(end, "no size that slabs have");
        }
    }

    @Test
    void announcementsThatAreFalseEndTheLink() throws Exception {
        long mappable = RegionMemory.totalBytes(4096);
        assertAnnouncementRefused(0, Descriptors.memory(mappable, ALL_SEALS), "too much");
        assertAnnouncementRefused(-1, Descriptors.memory(mappable, ALL_SEALS), "too much");
        assertAnnouncementRefused(Long.MAX_VALUE, Descriptors.memory(mappable, ALL_SEALS), "too much");
        assertAnnouncementRefused(Link.MOST_REGION_BYTES, Descriptors.memory(mappable, ALL_SEALS), "instead of");
        assertAnnouncementRefused(4097, Descriptors.memory(mappable, ALL_SEALS), "instead of");
        assertAnnouncementRefused(4096, Descriptors.memory(mappable, 0), "sealed");
        assertAnnouncementRefused(4096, Descriptors.open("/dev/zero"), "sealed");
        assertAnnouncementRefused(4096, -1, "no meaning");
    }

    @Test
    void memoryThatIsSaidToBeginWithinAPageEndsTheLink() throws Exception {
        int descriptor = Descriptors.memory(RegionMemory.totalBytes(4096), ALL_SEALS);
        for (int first : new int[] {4097, 4100, 4104}) {
            try (Intruder intruder = Intruder.linked(address)) {
                Recorder end = victim.nextLink();
                intruder.announceAt(first, 1, 4096, descriptor);
                assertDead(end, "where no page begins: address=0x" + Integer.toHexString(first));
            }
        }
        Descriptors.close(descriptor);
    }

    private void assertAnnouncementRefused(long lengthBytes, int descriptor, String reason) throws Exception {
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            intruder.announce(1, lengthBytes, descriptor);
            if (descriptor >= 0) {
                Descriptors.close(descriptor);
            }
            assertDead(end, reason);
        }
    }

    @Test
    void aKeyTwiceOrARegionThatNeverWasEndsTheLink() throws Exception {
        int descriptor = Descriptors.memory(RegionMemory.totalBytes(1), ALL_SEALS);
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            intruder.announce(1, 1, descriptor);
            intruder.announce(1, 1, descriptor);
            assertDead(end, "key twice");
        }
        Descriptors.close(descriptor);
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            LinkPacket.write(intruder.buffer, LinkPacket.RETRACT, 5, 0);
            intruder.send(LinkPacket.BYTES, -1);
            assertDead(end, "never announced");
        }
    }

    @Test
    void moreRegionsThanAllowedEndTheLink() throws Exception {
        int descriptor = Descriptors.memory(RegionMemory.totalBytes(1), ALL_SEALS);
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            int[] key = {0};
            Await.until("the victim to have enough", () -> {
                for (int i = 0; i < 100; i++) {
                    intruder.announce(key[0]++, 1, descriptor);
                }
                return end.isClosed();
            });
            assertDead(end, "regions=" + Link.MOST_REGIONS);
        }
        Descriptors.close(descriptor);
    }

    @Test
    void falseLengthsOfEntriesEndTheLink() throws Exception {
        for (int length : new int[] {0, 1, 31, (1 << 30) - 1}) {
            assertEntryRefused(length, 1);
            assertEntryRefused(length, SegmentLayout.PADDING);
        }
        assertEntryRefused(RingWriter.MAX_PAYLOAD_BYTES + 33, 1);
        assertEntryRefused(SegmentLayout.RING_BYTES + 1, SegmentLayout.PADDING);
    }

    private void assertEntryRefused(int length, int kind) throws Exception {
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            intruder.storeLong(SegmentLayout.ring(0), SegmentLayout.firstWord(0, length, kind));
            intruder.ring();
            assertDead(end, "an entry of " + length + " bytes");
        }
    }

    @Test
    void anEntryThatWrapsAroundTheEndIsRefused() throws Exception {
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            int padding = SegmentLayout.RING_BYTES - 64;
            intruder.storeLong(SegmentLayout.ring(0), SegmentLayout.firstWord(0, padding, SegmentLayout.PADDING));
            intruder.ring();
            ByteBuffer words = intruder.mapping().asBuffer();
            Await.until("the padding to be taken", () -> (long) SegmentLayout.LONG.getAcquire(words,
                    SegmentLayout.control(0) + SegmentLayout.HEAD) == padding);
            intruder.storeLong(SegmentLayout.ring(0) + padding, SegmentLayout.firstWord(padding, 65, 0));
            intruder.ring();
            assertDead(end, "an entry of 65 bytes");
        }
    }

    @Test
    void aRingFullOfPaddingIsReadNoFurtherThanAsked() throws Exception {
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            for (int at = 0; at < SegmentLayout.RING_BYTES; at += SegmentLayout.ENTRY_ALIGNMENT) {
                intruder.storeLong(SegmentLayout.ring(0) + at, SegmentLayout.firstWord(at,
                        SegmentLayout.ENTRY_ALIGNMENT, SegmentLayout.PADDING));
            }
            assertEquals(16, end.link.drain(16));
            assertEquals(3, end.link.tryDrain(3));
            end.link.close();
            assertEquals(0, end.link.drain(16));
        }
    }

    @Test
    void falsePositionsOfAConsumerEndTheLink() throws Exception {
        for (long head : new long[] {-64, SegmentLayout.RING_BYTES * 2L, Long.MIN_VALUE, Long.MAX_VALUE}) {
            try (Intruder intruder = Intruder.linked(address)) {
                Recorder end = victim.nextLink();
                intruder.storeLong(SegmentLayout.control(1) + SegmentLayout.HEAD, head);
                byte[] payload = new byte[RingWriter.MAX_PAYLOAD_BYTES];
                while (end.send(1, 1, 1, payload)) {
                    assertTrue(end.link.isOpen());
                }
                assertDead(end, "claims to have consumed");
            }
        }
    }

    @Test
    void aPeerThatFloodsTheSocketIsServedLikeOthers() throws Exception {
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            for (int round = 0; round < 50; round++) {
                for (int i = 0; i < 2000; i++) {
                    intruder.ring();
                }
                assertHonestLinkWorks();
            }
            assertTrue(end.link.isOpen(), "doorbells alone are no violation");
            end.link.close();
        }
    }

    @Test
    void randomPacketsOnALinkEndIt() throws Exception {
        Random random = new Random(SEED);
        for (int round = 0; round < 100; round++) {
            try (Intruder intruder = Intruder.linked(address)) {
                Recorder end = victim.nextLink();
                int bytes = 2 + random.nextInt(127);
                for (int i = 0; i < bytes; i++) {
                    intruder.buffer.packet().put(i, (byte) random.nextInt(i == 0 ? 8 : 256));
                }
                intruder.trySend(bytes);
                end.awaitClosed();
                end.link.close();
            }
        }
    }

    @Test
    void anIntruderMayScribbleOverAllItHasMapped() throws Exception {
        Random random = new Random(SEED);
        try (SharedRegion lent = victim.hub.allocate(100_000); SharedRegion kept = victim.hub.allocate(100_000)) {
            kept.segment().fill((byte) 9);
            for (int round = 0; round < 200; round++) {
                scribbleOverALink(random, round);
            }
            assertEquals(-1, kept.segment().mismatch(MemorySegment.ofArray(filled(100_000, 9))),
                    "memory that nobody was given access to");
            assertNotNull(lent.segment());
        }
    }

    private void scribbleOverALink(Random random, int round) throws Exception {
        try (Intruder intruder = Intruder.linked(address)) {
            Recorder end = victim.nextLink();
            MemorySegment memory = intruder.mapping().memory();
            byte[] payload = new byte[100];
            for (int i = 0; i < 200; i++) {
                long value = round % 2 == 0 ? random.nextLong() : random.nextInt(512) * 64L;
                memory.set(JAVA_LONG, interestingOffset(random), value);
                end.send(1, i, i, payload);
                if (i % 10 == 0) {
                    intruder.ring();
                }
            }
            try (LinkSlot slot = end.link.openSlot()) {
                slot.connect(random.nextInt(LinkSlot.MOST));
                slot.receivesPosted(slot.peerReceivesPosted());
                slot.starve();
            } catch (VerbsException e) {
                assertFalse(end.link.isOpen(), e.getMessage());
            }
            end.link.close();
        }
    }

    /** Control pages and beginnings of rings mostly, else anywhere. */
    private static long interestingOffset(Random random) {
        return switch (random.nextInt(4)) {
            case 0 -> SegmentLayout.control(random.nextInt(2)) + random.nextInt(4) * 256;
            case 1 -> SegmentLayout.ring(0) + random.nextInt(1000) * 64L;
            case 2 -> SegmentLayout.slot(random.nextInt(2), random.nextInt(LinkSlot.MOST));
            default -> random.nextLong(SegmentLayout.BYTES / 8) * 8;
        };
    }

    private static byte[] filled(int length, int value) {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }
}
