package org.rdmasockets.internal.sharedmemory.link;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.ffi.Descriptors;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** Two hubs of one process, linked: to each other they are as two processes. */
@SuppressWarnings("try")
class LinkTest {
    private static final byte[] NOTHING = {};
    private static final Set<AccessFlag> WRITABLE = Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);

    private Node.Pair pair;
    private Recorder near;
    private Recorder far;

    @BeforeEach
    void connect() throws Exception {
        pair = Node.Pair.connect();
        near = pair.nearEnd();
        far = pair.farEnd();
    }

    @AfterEach
    void disconnect() {
        pair.close();
    }

    @Test
    void anEntryArrivesAsItWasPublishedAtAPeerThatSleeps() throws InterruptedException {
        byte[] payload = {1, 2, 3};
        assertTrue(near.send(7, -5, Long.MIN_VALUE + 1, payload));
        Recorder.Copy copy = far.next();
        assertEquals(7, copy.kind());
        assertEquals(0xABCD, copy.flags());
        assertEquals(-5, copy.slot());
        assertEquals(-7, copy.value());
        assertEquals(Long.MIN_VALUE + 1, copy.first());
        assertArrayEquals(payload, copy.payload());
    }

    /** Publishes an open entry and says where it is. */
    private long sendOpen(long first) {
        RingWriter writer = near.link.writer();
        writer.lock();
        try {
            assertTrue(writer.begin(0));
            long position = writer.position();
            writer.header(Recorder.OPEN, 0, 0, 0, first);
            writer.publish();
            return position;
        } finally {
            writer.unlock();
        }
    }

    private boolean replace(long position, long expected, long replacement) {
        RingWriter writer = near.link.writer();
        writer.lock();
        try {
            return writer.replaceFirst(position, expected, replacement);
        } finally {
            writer.unlock();
        }
    }

    @Test
    void anOpenEntryIsChangedUntilItIsTaken() throws InterruptedException {
        far.deaf = true;
        long position = sendOpen(5);
        assertTrue(replace(position, 5, 6));
        assertFalse(replace(position, 5, 7), "it is not what was expected");
        assertTrue(replace(position, 6, 8));
        far.drainAll();
        assertEquals(8, far.next().first());
        assertFalse(replace(position, 8, 9), "it was taken");
    }

    @Test
    void anEntryThatHasGoneIsNotChangedThoughAnotherInItsPlaceLooksTheSame() throws InterruptedException {
        far.deaf = true;
        long position = sendOpen(5);
        far.drainAll();
        long last = position;
        while (last - position < SegmentLayout.RING_BYTES) {
            last = sendOpen(5);
            if (last - position < SegmentLayout.RING_BYTES) {
                far.drainAll();
            }
        }
        assertFalse(replace(position, 5, 6));
        assertTrue(replace(last, 5, 7));
        far.drainAll();
        while (!far.isEmpty()) {
            last = far.next().first();
        }
        assertEquals(7, last);
    }

    @Test
    void anEntryThatWasBegunAndDroppedHidesWhatItWasWrittenOver() {
        far.deaf = true;
        long position = sendOpen(5);
        far.drainAll();
        for (long last = position; last - position < SegmentLayout.RING_BYTES - SegmentLayout.ENTRY_ALIGNMENT;) {
            last = sendOpen(4);
            far.drainAll();
        }
        RingWriter writer = near.link.writer();
        writer.lock();
        try {
            assertTrue(writer.begin(0));
            writer.header(Recorder.OPEN, 0, 0, 0, 5);
        } finally {
            writer.unlock();
        }
        assertFalse(replace(position, 5, 6));
    }

    /** Payloads, also of entries that are dropped, lie where later entries begin; times with and without any. */
    @Test
    void bytesThatLookLikeEntriesAreNone() throws InterruptedException {
        far.deaf = true;
        ByteBuffer decoys = ByteBuffer.allocate(RingWriter.MAX_PAYLOAD_BYTES).order(ByteOrder.nativeOrder());
        while (decoys.hasRemaining()) {
            // Both turns, each where every other entry of the shortest may begin.
            long turn = decoys.position() / SegmentLayout.ENTRY_ALIGNMENT;
            decoys.putLong(SegmentLayout.firstWord(turn * SegmentLayout.RING_BYTES, 64, 99));
        }
        Random random = new Random(1);
        for (int i = 0; i < 60_000; i++) {
            boolean bare = i / 10_000 % 2 == 0 || random.nextInt(4) > 0;
            put(decoys.array(), bare ? 0 : random.nextInt(decoys.capacity() + 1), i, true);
            if (!bare && random.nextInt(4) == 0) {
                put(decoys.array(), decoys.capacity(), i, false);
            }
            far.drainAll();
            assertEquals(i, far.next().first());
            assertTrue(far.isEmpty());
        }
        assertTrue(near.link.isOpen() && far.link.isOpen());
    }

    private void put(byte[] payload, int length, long first, boolean publish) {
        RingWriter writer = near.link.writer();
        writer.lock();
        try {
            assertTrue(writer.begin(length));
            writer.header(1, 0, 0, 0, first);
            MemorySegment.copy(payload, 0, writer.memory(), JAVA_BYTE, writer.payloadOffset(), length);
            if (publish) {
                writer.publish();
            }
        } finally {
            writer.unlock();
        }
    }

    /** Each change is either seen by the peer or refused, at any moment of the peer's taking. */
    @Test
    void nothingIsLostWhileThePeerTakes() throws InterruptedException {
        int rounds = 100_000;
        Thread taker = Thread.ofPlatform().daemon().start(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                far.link.drain(1);
            }
        });
        far.deaf = true;
        long sum = 0;
        long entries = 0;
        for (int i = 0; i < rounds; entries++) {
            long first = 1;
            i++;
            long position = sendOpen(first);
            while (i < rounds && replace(position, first, first + 1)) {
                first++;
                i++;
            }
        }
        for (long left = entries; left > 0; left--) {
            sum += far.next().first();
        }
        taker.interrupt();
        taker.join();
        assertEquals(rounds, sum);
    }

    @Test
    void entriesOfAllSizesArriveInOrderBothWays() throws InterruptedException {
        int count = 20_000;
        Thread there = Thread.ofPlatform().start(() -> sendMany(near, count, 1));
        Thread back = Thread.ofVirtual().start(() -> sendMany(far, count, 2));
        expectMany(far, count, 1);
        expectMany(near, count, 2);
        there.join();
        back.join();
    }

    private static void sendMany(Recorder from, int count, int seed) {
        Random random = new Random(seed);
        for (int i = 0; i < count; i++) {
            byte[] payload = payload(random);
            while (!from.send(i & 0xFF, i, i, payload)) {
                LockSupport.parkNanos(10_000);
            }
        }
    }

    private static void expectMany(Recorder at, int count, int seed) throws InterruptedException {
        Random random = new Random(seed);
        for (int i = 0; i < count; i++) {
            byte[] payload = payload(random);
            Recorder.Copy copy = at.next();
            assertEquals(i, copy.slot());
            assertArrayEquals(payload, copy.payload(), "entry " + i);
        }
    }

    private static byte[] payload(Random random) {
        byte[] payload = new byte[random.nextInt(20) == 0 ? random.nextInt(RingWriter.MAX_PAYLOAD_BYTES + 1)
                : random.nextInt(200)];
        random.nextBytes(payload);
        return payload;
    }

    @Test
    void aFullRingIsRungWhenThereIsRoom() throws InterruptedException {
        far.deaf = true;
        byte[] payload = new byte[RingWriter.MAX_PAYLOAD_BYTES];
        int sent = 0;
        while (near.send(1, sent, 0, payload)) {
            sent++;
        }
        assertTrue(sent >= 14 && sent <= 16, "sent " + sent);
        near.takeDoorbells();
        far.drainAll();
        near.awaitDoorbell();
        assertTrue(near.send(1, sent, 0, payload));
        for (int i = 0; i < sent; i++) {
            assertEquals(i, far.next().slot());
        }
    }

    @Test
    void aPeerThatIsNotArmedIsNotRung() throws InterruptedException {
        assertTrue(near.send(1, 0, 0, NOTHING));
        far.awaitDoorbell();
        far.next();
        far.deaf = true;
        assertTrue(near.send(1, 1, 0, NOTHING)); // takes the armed word
        far.awaitDoorbell();
        for (int i = 2; i < 100; i++) {
            assertTrue(near.send(1, i, 0, NOTHING));
        }
        far.drainAll();
        for (int i = 1; i < 100; i++) {
            assertEquals(i, far.next().slot());
        }
        far.link.arm();
        assertTrue(near.send(1, 100, 0, NOTHING));
        far.awaitDoorbell();
        assertEquals(0, far.takeDoorbells(), "doorbells while not armed");
    }

    @Test
    void whoMustBeHeardRingsAnyway() throws InterruptedException {
        near.link.writer().ringPeer();
        near.link.writer().ringPeer();
        far.awaitDoorbell();
        assertTrue(near.send(1, 1, 0, NOTHING));
        assertEquals(1, far.next().slot());
    }

    @Test
    void aHubMayHaveBothEndsOfALink() throws Exception {
        try (Node both = Node.linkedToItself(); LinkListener listener = both.listen()) {
            Recorder one = both.dial(listener.address());
            Recorder first = both.nextLink();
            Recorder other = first == one ? both.nextLink() : first;
            assertTrue(one.send(1, 5, 0, NOTHING));
            assertEquals(5, other.next().slot());
            assertTrue(other.send(1, 6, 0, NOTHING));
            assertEquals(6, one.next().slot());
            assertNotNull(both.dial(listener.address()));
            assertEquals(0, both.unclaimedLinks());
            one.link.close();
            other.awaitClosed();
            other.link.close();
        }
    }

    @Test
    void slotsTellReceivesAndRingThoseWhoStarve() throws Exception {
        try (LinkSlot nearSlot = near.link.openSlot(); LinkSlot farSlot = far.link.openSlot();
                LinkSlot other = near.link.openSlot()) {
            assertNotEquals(nearSlot.index(), other.index());
            assertEquals(0, nearSlot.peerReceivesPosted(), "before it is connected");
            assertTrue(nearSlot.connect(farSlot.index()));
            assertFalse(nearSlot.connect(LinkSlot.MOST));
            assertFalse(nearSlot.connect(-1));
            farSlot.receivesPosted(3);
            assertEquals(3, nearSlot.peerReceivesPosted());
            assertEquals(0, near.takeDoorbells());
            nearSlot.starve();
            farSlot.receivesPosted(-1);
            near.awaitDoorbell();
            assertEquals(-1, nearSlot.peerReceivesPosted());
            farSlot.receivesPosted(0);
            assertEquals(0, near.takeDoorbells(), "nobody starved");
        }
    }

    @Test
    void slotsAreGivenBackAndRunOut() throws Exception {
        List<LinkSlot> slots = new ArrayList<>();
        for (int i = 0; i < LinkSlot.MOST; i++) {
            slots.add(near.link.openSlot());
        }
        assertEquals(Errno.ENOSPC, assertThrows(VerbsException.class, near.link::openSlot).errno());
        slots.get(77).close();
        slots.get(77).close();
        try (LinkSlot again = near.link.openSlot()) {
            assertEquals(77, again.index());
        }
        slots.forEach(LinkSlot::close);
    }

    @Test
    void aRegionIsSeenByThePeerUntilItIsClosed() throws Exception {
        try (SharedRegion region = pair.near().hub.allocate(10_000)) {
            region.segment().set(JAVA_LONG, 16, 42);
            assertNull(far.link.peerRegion(5), "not announced");
            near.link.announce(region, 5, WRITABLE, 77);
            near.link.announce(region, 5, WRITABLE, 77);
            PeerRegion seen = far.link.peerRegion(5);
            assertNotNull(seen);
            assertSame(seen, far.link.peerRegion(5));
            assertEquals(region.segment().address(), seen.address());
            assertEquals(10_000, seen.lengthBytes());
            for (AccessFlag flag : AccessFlag.values()) {
                assertEquals(WRITABLE.contains(flag), seen.allows(seen.address(), 10_000, flag), flag.name());
            }
            assertEquals(77, seen.tag());
            assertTrue(seen.tryEnter());
            assertEquals(42, seen.segment().get(JAVA_LONG, 16));
            seen.segment().set(JAVA_LONG, 24, 43);
            assertEquals(43, region.segment().get(JAVA_LONG, 24));
            region.close();
            assertFalse(seen.tryEnter(), "closed by its owner");
            seen.segment().set(JAVA_LONG, 24, 44); // late, but still mapped
            seen.leave();
        }
        near.send(1, 0, 0, NOTHING);
        far.next();
        assertNull(far.link.peerRegion(5), "the announcement was taken back");
    }

    @Test
    void memoryIsZeroAndNobodyElsesAfterItWasFreed() throws Exception {
        for (int i = 0; i < 200; i++) {
            SharedRegion region = pair.near().hub.allocate(1 + i * 100L);
            assertEquals(1 + i * 100L, region.segment().byteSize());
            assertEquals(0, region.segment().address() % 4096);
            for (long offset = 0; offset < region.segment().byteSize(); offset++) {
                assertEquals(0, region.segment().get(JAVA_BYTE, offset));
            }
            region.segment().fill((byte) i);
            near.link.announce(region, i, WRITABLE, 77);
            assertTrue(region.enter());
            region.close();
            assertFalse(region.enter());
            region.segment().fill((byte) 1); // inside an access that began before
            region.leave();
            region.close();
        }
    }

    @Test
    void aKeyNamesOneRegionAtATime() throws Exception {
        try (SharedRegion one = pair.near().hub.allocate(1); SharedRegion two = pair.near().hub.allocate(2)) {
            near.link.announce(one, 9, WRITABLE, 77);
            assertEquals(Errno.EINVAL, assertThrows(VerbsException.class,
                    () -> near.link.announce(two, 9, WRITABLE, 77)).errno());
            one.close();
            near.link.announce(two, 9, WRITABLE, 77);
            assertEquals(Errno.ESHUTDOWN, assertThrows(VerbsException.class,
                    () -> near.link.announce(one, 10, WRITABLE, 77)).errno());
            assertEquals(2, far.link.peerRegion(9).lengthBytes());
        }
    }

    @Test
    void anEntryWaitsUntilTheAnnouncementsBeforeItAreOut() throws Exception {
        List<SharedRegion> regions = new ArrayList<>();
        BlockingQueue<Recorder> slow = new LinkedBlockingQueue<>();
        try (LinkHub slowHub = drainedByHand(slow);
                LinkHub.HubWaiter slowWaiter = slowHub.newWaiter();
                LinkListener listener = Node.listen(slowHub, InetAddress.getLoopbackAddress())) {
            CompletableFuture<Link> dial = pair.near().outcome(listener.address());
            Await.until("a link", () -> drain(slowWaiter) && dial.isDone() && !slow.isEmpty());
            Recorder quick = (Recorder) dial.get().handler();
            for (int i = 0; quick.send(1, i, 0, NOTHING); i++) {
                assertTrue(i < 20_000, "the socket takes any number of packets");
                slow.element().drainAll();
                regions.add(pair.near().hub.allocate(1));
                quick.link.announce(regions.getLast(), i, WRITABLE, 0);
            }
            quick.takeDoorbells();
            PeerRegion last = slow.element().link.peerRegion(regions.size() - 2);
            assertNotNull(last, "read from the socket by whoever misses it");
            quick.awaitDoorbell();
            assertTrue(quick.send(1, 0, 0, NOTHING), "there is room again");
            Await.until("the last announcement",
                    () -> slow.element().link.peerRegion(regions.size() - 1) != null);
            quick.link.close();
            Await.until("the end", () -> drain(slowWaiter) && slow.element().isClosed());
            slow.element().link.close();
        } finally {
            regions.forEach(SharedRegion::close);
        }
    }

    static boolean drain(LinkHub.HubWaiter waiter) throws VerbsException {
        if (waiter.await(0)) {
            waiter.drain();
        }
        return true;
    }

    static LinkHub drainedByHand(BlockingQueue<Recorder> links) throws VerbsException {
        return LinkHub.open(link -> {
            Recorder recorder = new Recorder(link);
            links.add(recorder);
            return recorder;
        });
    }

    @Test
    void aSecondDialFindsTheSameLink() throws Exception {
        try (LinkListener listener = pair.far().listen()) {
            assertSame(near, pair.near().dial(listener.address()));
            assertEquals(0, pair.far().unclaimedLinks());
        }
    }

    @Test
    void whatWasPublishedBeforeTheEndArrivesAndThenTheEndIsTold() throws Exception {
        far.deaf = true;
        for (int i = 0; i < 100; i++) {
            assertTrue(near.send(1, i, 0, NOTHING));
        }
        near.link.close();
        assertTrue(far.awaitClosed().contains("closed the link"));
        for (int i = 0; i < 100; i++) {
            assertEquals(i, far.next().slot());
        }
        assertFalse(far.link.isOpen());
        assertFalse(far.send(1, 0, 0, NOTHING));
        assertEquals(Errno.ECONNRESET, assertThrows(VerbsException.class, far.link::openSlot).errno());
        assertFalse(near.isClosed(), "who closes hears nothing");
    }

    @Test
    void failingALinkTellsBothSidesOnce() throws Exception {
        near.link.fail("because of this test");
        near.link.fail("something else");
        assertEquals("because of this test", near.awaitClosed());
        assertTrue(far.awaitClosed().contains("closed the link"));
    }

    @Test
    void everythingIsHarmlessAfterClose() throws Exception {
        LinkSlot slot = near.link.openSlot();
        try (SharedRegion region = pair.near().hub.allocate(1)) {
            near.link.announce(region, 1, WRITABLE, 77);
            PeerRegion seen = far.link.peerRegion(1);
            far.link.close();
            assertFalse(seen.tryEnter());
            near.link.close();
            near.link.close();
            assertEquals(0, near.link.drain(16));
            assertEquals(0, near.link.tryDrain(16));
            near.link.arm();
            assertFalse(near.send(1, 1, 1, NOTHING));
            slot.receivesPosted(9);
            slot.starve();
            slot.close();
            assertNull(near.link.peerRegion(1));
            assertEquals(Errno.ECONNRESET, assertThrows(VerbsException.class,
                    () -> near.link.announce(region, 2, WRITABLE, 77)).errno());
        }
    }

    @Test
    void theMemoryGoesWhenALinkIsClosed() throws Exception {
        long address = near.link.memory().address();
        assertTrue(Descriptors.isShared(address));
        near.link.close();
        assertFalse(Descriptors.isShared(address));
    }

    @Test
    void aHandlerMayCloseItsLinkAndTheMemoryGoesWhenItReturns() throws Exception {
        long address = far.link.memory().address();
        boolean[] mapped = new boolean[1];
        far.deaf = true;
        far.atEntry = () -> {
            far.link.close();
            mapped[0] = assertDoesNotThrow(() -> Descriptors.isShared(address));
        };
        assertTrue(near.send(1, 0, 1, NOTHING));
        assertEquals(1, far.link.drain(16));
        assertTrue(mapped[0], "the entry could still be read");
        assertFalse(Descriptors.isShared(address));
        assertEquals(0, far.link.drain(16));
    }

    @Test
    void whoDrainsWhileALinkIsClosedFreesItsMemory() throws Exception {
        long address = far.link.memory().address();
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        far.deaf = true;
        far.atEntry = () -> {
            inside.countDown();
            assertDoesNotThrow(() -> go.await(Node.LIMIT_SECONDS, TimeUnit.SECONDS));
        };
        assertTrue(near.send(1, 0, 1, NOTHING));
        Thread drainer = Thread.ofPlatform().start(() -> far.link.drain(16));
        assertTrue(inside.await(Node.LIMIT_SECONDS, TimeUnit.SECONDS));
        far.link.close();
        assertTrue(Descriptors.isShared(address), "somebody reads it");
        assertEquals(0, far.link.tryDrain(16));
        go.countDown();
        drainer.join();
        assertFalse(Descriptors.isShared(address));
    }

    @Test
    void closingTheHubEndsItsLinks() throws Exception {
        pair.near().hub.close();
        assertEquals("the device was closed", near.awaitClosed());
        far.awaitClosed();
        assertThrows(VerbsException.class, () -> pair.near().listen());
    }
}
