package org.rdmasockets.contract;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.far.Holder;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.spi.SendHints;

/**
 * Every operation over a connection. The source is always the beginning of the active end's region; the passive end may
 * be in another JVM.
 */
abstract class OperationContract extends VerbsContract {
    private static final int TARGET = 4096;
    private static final int IMMEDIATE = 0x12345678;
    private static final int JOINING_AND_OPEN = SendHints.JOINING | SendHints.OPEN;

    private End active;
    private Holder<End> passive;
    /** Address and key of the passive end's region. */
    private long region;
    private int key;

    @BeforeEach
    void connectEnds() throws VerbsException {
        Duo duo = connectDuo();
        active = duo.active;
        passive = duo.passive;
        region = passive.ask(end -> end.region.address());
        key = passive.ask(end -> end.region.remoteKey());
        for (int i = 0; i < TARGET; i++) {
            active.memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 7 + 1));
        }
    }

    private void assertArrived(int from, int to, int length) {
        assertArrayEquals(active.bytes(from, length), passive.ask(end -> end.bytes(to, length)));
    }

    private long targetValue() {
        return passive.ask(end -> end.memory.get(JAVA_LONG, TARGET));
    }

    private long target() {
        return region + TARGET;
    }

    @Test
    void sendsArriveInTheReceive() throws VerbsException {
        passive.tell(end -> end.postReceive(70, TARGET, 1000));
        active.send.send(71).add(active.region, 10, 600).signalled();
        active.postSend();
        assertEquals(CompletionOpcode.SEND, active.awaitSuccess(71).opcode());
        End.Done received = passive.ask(end -> end.awaitSuccess(70));
        assertEquals(CompletionOpcode.RECEIVE, received.opcode());
        assertEquals(600, received.lengthBytes());
        assertFalse(received.hasImmediate());
        int number = passive.ask(end -> end.queuePair.number());
        assertEquals(number, received.queuePairNumber());
        assertArrived(10, TARGET, 600);
    }

    @Test
    void aSendCarriesImmediateData() throws VerbsException {
        needs(Capability.IMMEDIATE_DATA);
        passive.tell(end -> end.postReceive(70, TARGET, 1000));
        active.send.send(71).immediate(IMMEDIATE).add(active.region, 0, 5).signalled();
        active.postSend();
        active.awaitSuccess(71);
        End.Done received = passive.ask(end -> end.awaitSuccess(70));
        assertEquals(CompletionOpcode.RECEIVE, received.opcode());
        assertTrue(received.hasImmediate());
        assertEquals(IMMEDIATE, received.immediate());
        assertArrived(0, TARGET, 5);
    }

    @Test
    void writesAreSilentForThePeer() throws VerbsException {
        passive.tell(end -> end.postReceive(70, 0, 1000));
        active.send.write(71, target(), key).add(active.region, 3, 900).signalled();
        active.postSend();
        assertEquals(CompletionOpcode.WRITE, active.awaitSuccess(71).opcode());
        // A send behind it: on iWARP a write's completion is no delivery, but order is kept.
        active.send.send(72).add(active.region, 0, 1).signalled();
        active.postSend();
        active.awaitSuccess(72);
        assertEquals(CompletionOpcode.RECEIVE, passive.ask(end -> end.awaitSuccess(70)).opcode());
        assertArrived(3, TARGET, 900);
    }

    @Test
    void aWriteWithImmediateCompletesAReceive() throws VerbsException {
        needs(Capability.IMMEDIATE_DATA);
        passive.tell(end -> end.postReceiveNothing(70));
        active.send.write(71, target(), key).immediate(-2).add(active.region, 0, 64).signalled();
        active.postSend();
        assertEquals(CompletionOpcode.WRITE, active.awaitSuccess(71).opcode());
        End.Done received = passive.ask(end -> end.awaitSuccess(70));
        assertEquals(CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE, received.opcode());
        assertEquals(-2, received.immediate());
        assertEquals(64, received.lengthBytes());
        assertArrived(0, TARGET, 64);
    }

    @Test
    void aWriteMayJoinTheOneBeforeItUntilThatIsTaken() throws VerbsException {
        needs(Capability.IMMEDIATE_DATA);
        for (int i = 0; i < 3; i++) {
            int id = 70 + i;
            passive.tell(end -> end.postReceiveNothing(id));
        }
        write(0, 64, 1);
        int joined = active.queuePair.postSend(next(64, 100, 2).hints(JOINING_AND_OPEN, 12));
        assertTrue(joined == SendHints.JOINED || joined == QueuePair.POSTED, () -> "posted: " + joined);
        boolean one = joined == SendHints.JOINED;
        active.awaitSuccess(71);
        active.awaitSuccess(71);
        assertWritten(70, one ? 164 : 64, one ? 12 : 1);
        if (!one) {
            assertWritten(71, 100, 2);
        }
        // Taken: what comes now has a message of its own.
        assertEquals(QueuePair.POSTED, active.queuePair.postSend(next(164, 30, 3).hints(SendHints.JOINING, 123)));
        active.awaitSuccess(71);
        assertWritten(one ? 71 : 72, 30, 3);
        assertArrived(0, TARGET, 194);
    }

    @Test
    void aWriteDoesNotJoinWhatIsNotOpenOrNotTheLast() throws VerbsException {
        needs(Capability.IMMEDIATE_DATA);
        for (int i = 0; i < 5; i++) {
            int id = 70 + i;
            passive.tell(end -> end.postReceive(id, 0, 10));
        }
        assertEquals(QueuePair.POSTED, active.queuePair.postSend(next(0, 64, 1)));
        assertEquals(QueuePair.POSTED, active.queuePair.postSend(next(64, 64, 2).hints(JOINING_AND_OPEN, 12)));
        active.send.send(71).immediate(5).hints(JOINING_AND_OPEN, 25).add(active.region, 0, 1).signalled();
        active.postSend();
        assertEquals(QueuePair.POSTED, active.queuePair.postSend(next(128, 64, 3).hints(JOINING_AND_OPEN, 123)));
        active.send.send(71).hints(SendHints.JOINING, 34).add(active.region, 0, 2).signalled();
        active.postSend();
        for (int i = 0; i < 5; i++) {
            active.awaitSuccess(71);
        }
        assertWritten(70, 64, 1);
        assertWritten(71, 64, 2);
        assertEquals(1, passive.ask(end -> end.awaitSuccess(72)).lengthBytes());
        assertWritten(73, 64, 3);
        assertEquals(2, passive.ask(end -> end.awaitSuccess(74)).lengthBytes());
    }

    private SendRequest next(int offset, int length, int immediate) {
        return active.send.write(71, target() + offset, key).immediate(immediate).add(active.region, offset, length)
                .signalled();
    }

    private void write(int offset, int length, int immediate) {
        SendRequest request = next(offset, length, immediate).hints(SendHints.OPEN);
        assertEquals(QueuePair.POSTED, active.queuePair.postSend(request));
    }

    private void assertWritten(int id, int length, int immediate) throws VerbsException {
        End.Done done = passive.ask(end -> end.awaitSuccess(id));
        assertEquals(length, done.lengthBytes());
        assertEquals(immediate, done.immediate());
    }

    @Test
    void immediateDataIsRefusedWhereTheDeviceHasNone() {
        active.send.send(71).immediate(1).add(active.region, 0, 1).signalled();
        int taken = active.device.supports(Capability.IMMEDIATE_DATA) ? QueuePair.POSTED : Errno.EOPNOTSUPP.number();
        passive.tell(end -> end.postReceive(70, 0, 10));
        assertEquals(taken, active.queuePair.postSend(active.send));
    }

    @Test
    void readsFetchThePeersMemory() throws VerbsException {
        passive.tell(end -> end.memory.asSlice(TARGET, 100).fill((byte) 42));
        active.send.read(71, target(), key).add(active.region, 8192, 100).signalled();
        active.postSend();
        assertEquals(CompletionOpcode.READ, active.awaitSuccess(71).opcode());
        byte[] expected = new byte[100];
        Arrays.fill(expected, (byte) 42);
        assertArrayEquals(expected, active.bytes(8192, 100));
    }

    @Test
    void compareAndSwapSwapsOnlyWhatWasExpected() throws VerbsException {
        needs(Capability.ATOMICS);
        passive.tell(end -> end.memory.set(JAVA_LONG, TARGET, 5));
        active.send.compareAndSwap(71, target(), key, 5, 9).add(active.region, 8192, 8);
        active.send.signalled();
        active.postSend();
        assertEquals(CompletionOpcode.COMPARE_AND_SWAP, active.awaitSuccess(71).opcode());
        assertEquals(5, active.memory.get(JAVA_LONG, 8192), "the old value");
        assertEquals(9, targetValue(), "swapped");
        active.postSend();
        active.awaitSuccess(71);
        assertEquals(9, active.memory.get(JAVA_LONG, 8192), "the old value");
        assertEquals(9, targetValue(), "not swapped");
    }

    @Test
    void fetchAndAddAdds() throws VerbsException {
        needs(Capability.ATOMICS);
        passive.tell(end -> end.memory.set(JAVA_LONG, TARGET, -3));
        active.send.fetchAndAdd(71, target(), key, 10).add(active.region, 8192, 8).signalled();
        active.postSend();
        assertEquals(CompletionOpcode.FETCH_AND_ADD, active.awaitSuccess(71).opcode());
        assertEquals(-3, active.memory.get(JAVA_LONG, 8192), "the old value");
        assertEquals(7, targetValue(), "the new value");
    }

    @Test
    void atomicsAreRefusedWhereTheDeviceHasNone() {
        active.send.fetchAndAdd(71, target(), key, 1).add(active.region, 8192, 8).signalled();
        int taken = active.device.supports(Capability.ATOMICS) ? QueuePair.POSTED : Errno.EOPNOTSUPP.number();
        assertEquals(taken, active.queuePair.postSend(active.send));
    }

    @Test
    void elementsAreGatheredAndScattered() throws VerbsException {
        int posted = passive.ask(end -> end.queuePair.postReceive(
                end.receive.receive(70).add(end.region, TARGET, 100).add(end.region, 2 * TARGET, 1000)));
        assertEquals(QueuePair.POSTED, posted);
        active.send.send(71).add(active.region, 0, 30).add(active.region, 1000, 270).signalled();
        active.postSend();
        active.awaitSuccess(71);
        assertEquals(300, passive.ask(end -> end.awaitSuccess(70)).lengthBytes());
        assertArrived(0, TARGET, 30);
        assertArrived(1000, TARGET + 30, 70);
        assertArrived(1070, 2 * TARGET, 200);
    }

    @Test
    void inlineDataMayBeOverwrittenAtOnce() throws VerbsException {
        assertTrue(active.queuePair.maxInlineBytes() >= End.INLINE_BYTES, "granted inline bytes");
        passive.tell(end -> end.postReceive(70, TARGET, 100));
        active.send.send(71).add(active.region, 0, 16).add(active.region, 100, 16).inline().signalled();
        active.postSend();
        active.memory.asSlice(0, 200).fill((byte) 0);
        active.awaitSuccess(71);
        assertEquals(32, passive.ask(end -> end.awaitSuccess(70)).lengthBytes());
        byte[] arrived = passive.ask(end -> end.bytes(TARGET, 32));
        assertEquals(1, arrived[0], "the first byte as it was");
        assertEquals((byte) (100 * 7 + 1), arrived[16]);
    }

    @Test
    void anArrayIsCopiedWhereTheDeviceCopies() throws VerbsException {
        byte[] bytes = new byte[5000];
        Arrays.fill(bytes, (byte) 33);
        active.send.write(71, target(), key).bytes(bytes, 1000, 3000).signalled();
        int expected = active.device.supports(Capability.COPIES_AT_POST) ? QueuePair.POSTED
                : Errno.EOPNOTSUPP.number();
        assertEquals(expected, active.queuePair.postSend(active.send));
        if (expected != QueuePair.POSTED) {
            return;
        }
        active.awaitSuccess(71);
        // No receive yet, so that the send waits; its bytes do not.
        active.send.send(72).bytes(bytes, 0, 100).signalled();
        active.postSend();
        Arrays.fill(bytes, (byte) 44);
        passive.tell(end -> end.postReceive(70, 0, 200));
        assertEquals(100, passive.ask(end -> end.awaitSuccess(70)).lengthBytes());
        active.awaitSuccess(72);
        byte[] written = passive.ask(end -> end.bytes(TARGET, 3001));
        byte[] sent = passive.ask(end -> end.bytes(0, 3000));
        for (int i = 0; i < 3000; i++) {
            assertEquals(33, written[i], "byte " + i + " of the write");
            assertEquals(i < 100 ? 33 : 0, sent[i], "byte " + i + " of the send");
        }
        assertEquals(0, written[3000]);
    }

    @Test
    void whatIsWrittenFromAnArrayIsThereWithItsMessage() throws VerbsException {
        needs(Capability.COPIES_AT_POST);
        byte[] bytes = new byte[3000];
        for (int i = 0; i < 3; i++) {
            int id = 80 + i;
            int length = i == 2 ? bytes.length : 100;
            if (i > 0) {
                passive.tell(end -> end.postReceiveNothing(id));
            }
            Arrays.fill(bytes, (byte) (1 + i));
            active.send.write(71, target() + 100 * i, key).hints(SendHints.RELAXED).bytes(bytes, 0, length).immediate(i)
                    .signalled();
            active.postSend();
            Arrays.fill(bytes, (byte) 44);
            if (i == 0) { // the first waits, its bytes do not
                passive.tell(end -> end.postReceiveNothing(id));
            }
            active.awaitSuccess(71);
            assertEquals(length, passive.ask(end -> end.awaitSuccess(id)).lengthBytes());
        }
        byte[] written = passive.ask(end -> end.bytes(TARGET, 3201));
        for (int i = 0; i < 3200; i++) {
            assertEquals(1 + Math.min(i / 100, 2), written[i], "byte " + i);
        }
        assertEquals(0, written[3200]);
    }

    @Test
    void aWriteFromAnArrayIsNotOvertakenUnlessItIsRelaxed() throws VerbsException {
        needs(Capability.COPIES_AT_POST);
        passive.tell(end -> end.postReceiveNothing(90));
        passive.tell(end -> end.postReceiveNothing(91));
        passive.ask(end -> end.bytes(TARGET, 1)); // by now they are posted
        byte[] bytes = new byte[3000];
        Arrays.fill(bytes, (byte) 1);
        active.send.write(71, target(), key).bytes(bytes, 0, 100).immediate(1);
        active.postSend();
        Arrays.fill(bytes, (byte) 2);
        active.send.write(72, target(), key).bytes(bytes, 0, 3000).immediate(2).signalled();
        active.postSend();
        active.awaitSuccess(72);
        passive.ask(end -> end.awaitSuccess(90));
        passive.ask(end -> end.awaitSuccess(91));
        for (byte written : passive.ask(end -> end.bytes(TARGET, 3000))) {
            assertEquals(2, written);
        }
    }

    @Test
    void bytesThatComeWithTheirMessageDoNotJoinAnother() throws VerbsException {
        needs(Capability.COPIES_AT_POST);
        passive.tell(end -> end.postReceiveNothing(90));
        passive.tell(end -> end.postReceiveNothing(91));
        byte[] bytes = new byte[100];
        Arrays.fill(bytes, (byte) 3);
        active.send.write(71, target(), key).immediate(1).hints(SendHints.OPEN);
        active.postSend();
        active.send.write(72, target(), key).hints(SendHints.RELAXED | SendHints.JOINING, 3).bytes(bytes, 0, 100)
                .immediate(2).signalled();
        active.postSend();
        active.awaitSuccess(72);
        int taken = passive.ask(end -> end.awaitSuccess(90)).lengthBytes();
        if (taken == 0) { // they did not join
            taken = passive.ask(end -> end.awaitSuccess(91)).lengthBytes();
        }
        assertEquals(100, taken);
        for (byte written : passive.ask(end -> end.bytes(TARGET, 100))) {
            assertEquals(3, written);
        }
    }

    @Test
    void anArrayIsNoTargetAndNeedsNoElements() throws VerbsException {
        needs(Capability.COPIES_AT_POST);
        active.send.read(71, target(), key).bytes(new byte[8], 0, 8);
        assertEquals(Errno.EINVAL.number(), active.queuePair.postSend(active.send));
        active.send.send(72).bytes(new byte[8], 0, 8).add(active.region, 0, 8);
        assertEquals(Errno.EINVAL.number(), active.queuePair.postSend(active.send));
        assertThrows(IndexOutOfBoundsException.class, () -> active.send.send(73).bytes(new byte[8], 4, 5));
    }

    @Test
    void tooMuchInlineDataIsRefused() {
        active.send.send(71).add(active.region, 0, active.queuePair.maxInlineBytes() + 1).inline();
        assertEquals(Errno.EINVAL.number(), active.queuePair.postSend(active.send));
    }

    @Test
    void inlineDataOfAClosedRegionIsRefused() {
        active.send.send(71).add(active.region, 0, 8).inline();
        active.region.close();
        assertEquals(Errno.EINVAL.number(), active.queuePair.postSend(active.send));
    }

    @Test
    void tooManyElementsAreRefused() {
        SendRequest send = new SendRequest(3).send(71);
        ReceiveRequest receive = new ReceiveRequest(3).receive(70);
        for (int i = 0; i < 3; i++) {
            send.add(active.region, i, 1);
            receive.add(active.region, i, 1);
        }
        assertEquals(Errno.EINVAL.number(), active.queuePair.postSend(send));
        assertEquals(Errno.EINVAL.number(), active.queuePair.postReceive(receive));
    }

    @Test
    void unsignalledRequestsCompleteSilently() throws VerbsException {
        passive.tell(end -> end.postReceive(70, TARGET, 100));
        active.send.write(71, target(), key).add(active.region, 0, 10);
        active.postSend();
        active.send.send(72).add(active.region, 0, 10).signalled();
        active.postSend();
        active.awaitSuccess(72);
        passive.ask(end -> end.awaitSuccess(70));
        assertEquals(0, active.pollNow());
    }

    @Test
    void messagesWithoutDataArrive() throws VerbsException {
        passive.tell(end -> end.postReceive(70, TARGET, 100));
        active.send.write(71, target(), key).signalled();
        active.postSend();
        active.awaitSuccess(71);
        active.send.send(72).signalled();
        active.postSend();
        active.awaitSuccess(72);
        assertEquals(0, passive.ask(end -> end.awaitSuccess(70)).lengthBytes());
    }

    @Test
    void requestsAreExecutedInOrder() throws VerbsException {
        passive.tell(end -> {
            for (int i = 0; i < End.RECEIVES; i++) {
                end.postReceive(100 + i, TARGET + i * 64, 64);
            }
        });
        for (int i = 0; i < End.SENDS; i++) {
            active.send.send(200 + i).add(active.region, i * 10, 10).signalled();
            active.postSend();
        }
        for (int i = 0; i < End.SENDS; i++) {
            int number = i;
            active.awaitSuccess(200 + i);
            passive.ask(end -> end.awaitSuccess(100 + number));
            assertArrived(i * 10, TARGET + i * 64, 10);
        }
    }

    @Test
    void aLargeMessageArrives() throws VerbsException {
        active.send.write(71, region, key).add(active.region, 0, End.BYTES);
        active.send.signalled();
        active.postSend();
        active.awaitSuccess(71);
        passive.tell(end -> end.postReceive(70, 0, 0));
        active.send.send(72).signalled();
        active.postSend();
        passive.ask(end -> end.awaitSuccess(70));
        assertArrived(0, 0, End.BYTES);
    }

    @Test
    void anEmptyReceiveIsTakenWhereTheDeviceCan() {
        boolean taken = passive.ask(end -> end.queuePair.postReceive(end.receive.receive(70))) == QueuePair.POSTED;
        assertEquals(passive.ask(end -> end.device.supports(Capability.EMPTY_RECEIVE)), taken);
    }

    @Test
    void theStateCanBeAskedWhereTheDeviceTells() throws VerbsException {
        QueuePairState expected = active.device.supports(Capability.QUERY_STATE) ? QueuePairState.READY_TO_SEND
                : QueuePairState.UNKNOWN;
        assertEquals(expected, active.queuePair.queryState());
        assertEquals(expected, passive.ask(end -> end.queuePair.queryState()));
    }
}
