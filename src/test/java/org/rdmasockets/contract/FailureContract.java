package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Serializable;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.rdmasockets.far.Holder;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent.Disconnected;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/** Operations that fail, and harm no other connection. */
abstract class FailureContract extends VerbsContract {
    private static final byte UNTOUCHED = 77;

    /** The region of an end. */
    private record Place(long address, int key) implements Serializable {
        static Place of(Holder<End> holder) {
            return holder.ask(end -> new Place(end.region.address(), end.region.remoteKey()));
        }
    }

    /** Writes a byte to the victim's memory; the connection has to die, and the byte must not arrive. */
    private static void writeIsRefused(Duo duo, Holder<End> victim, long address, int key) throws VerbsException {
        End writer = duo.active;
        victim.tell(end -> end.memory.fill(UNTOUCHED));
        writer.memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
        writer.send.write(5, address, key).add(writer.region, 0, 1).signalled();
        writer.postSend();
        if (writer.device.supports(Capability.COMPLETION_IS_DELIVERY)) {
            assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, writer.await().status());
        } else {
            // iWARP completes a write when it is queued; the refusal ends the connection.
            writer.await();
            duo.passive.tell(end -> end.events.await(Disconnected.class));
        }
        byte[] expected = new byte[End.BYTES];
        Arrays.fill(expected, UNTOUCHED);
        assertArrayEquals(expected, victim.ask(end -> end.bytes(0, End.BYTES)));
    }

    @Test
    void aWrongKeyChangesNothing() throws VerbsException {
        Duo duo = connectDuo();
        Place place = Place.of(duo.passive);
        writeIsRefused(duo, duo.passive, place.address, place.key ^ 0x5a5a5a00);
    }

    /** rdma-example names its memory by the local key, which is right only where a device has one key for both. */
    @Test
    void theLocalKeyOpensNothingWhereItIsAnother() throws VerbsException {
        Duo duo = connectDuo();
        Place place = Place.of(duo.passive);
        int localKey = duo.passive.ask(end -> end.region.localKey());
        if (duo.active.device.info().transport() == TransportType.SHARED_MEMORY) {
            assertNotEquals(place.key, localKey);
        }
        if (place.key != localKey) {
            writeIsRefused(duo, duo.passive, place.address, localKey);
        }
    }

    @Test
    void aWriteBeyondTheRegionChangesNothing() throws VerbsException {
        Duo duo = connectDuo();
        Place place = Place.of(duo.passive);
        writeIsRefused(duo, duo.passive, place.address + End.BYTES, place.key);
    }

    @Test
    void aKeyOfAnotherDomainChangesNothingThere() throws VerbsException {
        Duo duo = connectDuo();
        Duo other = connectDuo();
        Place place = Place.of(other.passive);
        writeIsRefused(duo, other.passive, place.address, place.key);
        other.passive.tell(end -> end.postReceive(1, 0, 10));
        other.active.send.send(2).add(other.active.region, 0, 10).signalled();
        other.active.postSend();
        other.active.awaitSuccess(2);
        other.passive.ask(end -> end.awaitSuccess(1));
    }

    @Test
    void aKeyIsDeadOnceTheRegionIsClosed() throws VerbsException {
        Duo duo = connectDuo();
        Place place = Place.of(duo.passive);
        duo.passive.tell(end -> end.region.close());
        writeIsRefused(duo, duo.passive, place.address, place.key);
    }

    @Test
    void aRefusalDoesNotOvertakeWhatThePeerSentBefore() throws VerbsException {
        needs(Capability.COMPLETION_IS_DELIVERY);
        Duo duo = connectDuo();
        End active = duo.active;
        Place place = Place.of(duo.passive);
        for (int i = 0; i < 10; i++) {
            active.postReceive(10 + i, 0, 10);
        }
        // The first send over a new link may be taken in at once; later ones are taken in when a thread polls.
        duo.passive.tell(end -> send(end, 0, 1));
        active.awaitSuccess(10);
        duo.passive.tell(end -> send(end, 1, 10));
        active.send.write(5, place.address, place.key ^ 0x5a5a5a00).add(active.region, 0, 1).signalled();
        active.postSend();
        for (int i = 1; i < 10; i++) {
            active.awaitSuccess(10 + i);
        }
        assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, active.await().status());
    }

    private static void send(End end, int from, int to) throws VerbsException {
        for (int i = from; i < to; i++) {
            end.send.send(20 + i).add(end.region, 0, 10).signalled();
            end.postSend();
            end.awaitSuccess(20 + i);
        }
    }

    @Test
    void aSendWaitsForAReceiveWhereTheDeviceRetries() throws VerbsException {
        needs(Capability.RECEIVER_NOT_READY_RETRY);
        Duo duo = connectDuo();
        duo.passive.tell(end -> end.queuePair.modify(new QueuePairAttributes().set(
                QueuePairAttributes.Field.RECEIVER_NOT_READY_TIMER, 1)));
        duo.active.send.send(2).add(duo.active.region, 0, 10).signalled();
        duo.active.postSend();
        assertEquals(0, duo.active.pollNow(), "completions without a receive");
        duo.passive.tell(end -> end.postReceive(1, 0, 10));
        duo.passive.ask(end -> end.awaitSuccess(1));
        duo.active.awaitSuccess(2);
    }

    @Test
    void failingFlushesWhatIsPosted() throws VerbsException {
        Pair pair = connect();
        for (int i = 0; i < 4; i++) {
            pair.passive.postReceive(10 + i, 0, 10);
        }
        pair.passive.queuePair.fail();
        for (int i = 0; i < 4; i++) {
            End.Done done = pair.passive.await();
            assertEquals(WorkCompletionStatus.FLUSHED, done.status());
            assertEquals(10 + i, done.id());
        }
        pair.passive.queuePair.fail();
        if (pair.passive.device.supports(Capability.QUERY_STATE)) {
            assertEquals(QueuePairState.ERROR, pair.passive.queuePair.queryState());
        }
    }

    @Test
    void aReceiveThatIsTooShortFailsBothEnds() throws VerbsException {
        Duo duo = connectDuo();
        duo.passive.tell(end -> end.postReceive(1, 0, 10));
        duo.active.send.send(2).add(duo.active.region, 0, 11).signalled();
        duo.active.postSend();
        assertNotEquals(WorkCompletionStatus.SUCCESS, duo.passive.ask(end -> end.await().status()));
    }

    @Test
    void completionsOfAClosedQueuePairStayWithTheirIdentifier() throws VerbsException {
        CompletionQueue shared = closing(device().createCompletionQueue(4 * (End.SENDS + End.RECEIVES), null));
        Pair pair = new Pair(loop(), fixture().address(), shared);
        for (int i = 0; i < 3; i++) {
            pair.passive.postReceive(10 + i, 0, 10);
        }
        pair.passive.queuePair.fail();
        pair.close();
        WorkCompletions batch = shared.newBatch(16);
        int stale = shared.poll(batch);
        for (int i = 0; i < stale; i++) {
            assertTrue(batch.workRequestId(i) >= 10 && batch.workRequestId(i) < 13, "a request of ours");
            assertEquals(WorkCompletionStatus.FLUSHED, WorkCompletionStatus.of(batch.status(i)));
        }
        assertTrue(stale < batch.capacity(), () -> "more completions than requests: " + stale);
        assertEquals(shared.entries(), shared.unreservedEntries(), "all room is back");
    }

    /** More reads than soft-RoCE has. A retry count at a wrong time is refused by Linux 6.1 and taken by 6.12. */
    @Test
    void anAttributeThatTheDeviceCannotHaveIsRefused() throws VerbsException {
        needs(Capability.MANUAL_CONNECT);
        Pair pair = connect();
        refused(Errno.EINVAL, "MAX_READS_AS_INITIATOR", () -> pair.active.queuePair.modify(
                new QueuePairAttributes().set(QueuePairAttributes.Field.MAX_READS_AS_INITIATOR, 255)));
    }
}
