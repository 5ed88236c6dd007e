package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.GidChoice;
import org.rdmasockets.verbs.GidEntry;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairAttributes.Path;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.QueuePairType;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** Datagrams between two queue pairs of this process. */
abstract class DatagramContract extends VerbsContract {
    private DatagramEnd sender;
    private DatagramEnd receiver;
    private AddressHandle way;

    @BeforeEach
    void makeEnds() throws VerbsException {
        if (device().supports(Capability.DATAGRAMS)) {
            sender = closing(new DatagramEnd(device(), 0x1234)).ready();
            receiver = closing(new DatagramEnd(device(), 0x777)).ready();
            way = closing(sender.domain.createAddressHandle(1, pathHere()));
        }
    }

    private Path pathHere() throws VerbsException {
        GidEntry chosen = GidChoice.of(device());
        return new Path(chosen.gid(), chosen.index());
    }

    @Test
    void aDatagramArrivesBehindARoutingHeader() throws VerbsException {
        needs(Capability.DATAGRAMS);
        receiver.postReceive(9);
        sender.deliver(sender.sendTo(way, receiver, 100, 5));
        assertEquals(9, receiver.await(WorkCompletionStatus.SUCCESS));
        receiver.assertReceived(100, 5);
        assertTrue(receiver.batch.hasRoutingHeader(0));
        assertEquals(sender.pair.number(), receiver.batch.sourceQueuePairNumber(0));
        assertEquals(receiver.pair.number(), receiver.batch.queuePairNumber(0));
    }

    @Test
    void anAnswerNeedsOnlyWhatArrived() throws VerbsException {
        needs(Capability.DATAGRAMS);
        receiver.postReceive(9);
        sender.postReceive(8);
        sender.deliver(sender.sendTo(way, receiver, 10, 1));
        receiver.await(WorkCompletionStatus.SUCCESS);
        int number = receiver.batch.sourceQueuePairNumber(0);
        AddressHandle back = closing(receiver.domain.createAddressHandle(1, receiver.batch, 0,
                receiver.region.segment().asSlice(DatagramEnd.RECEIVED)));
        receiver.region.segment().asSlice(0, 20).fill((byte) 3);
        receiver.deliver(receiver.send.send(1).add(receiver.region, 0, 20).to(back, number, 0x1234).signalled());
        assertEquals(8, sender.await(WorkCompletionStatus.SUCCESS));
        sender.assertReceived(20, 3);
    }

    @Test
    void immediateDataAndInlineDataArrive() throws VerbsException {
        needs(Capability.DATAGRAMS);
        receiver.postReceive(9);
        sender.deliver(sender.sendTo(way, receiver, 32, 6).immediate(-77).inline());
        receiver.await(WorkCompletionStatus.SUCCESS);
        receiver.assertReceived(32, 6);
        assertTrue(receiver.batch.hasImmediate(0));
        assertEquals(-77, receiver.batch.immediate(0));
    }

    @Test
    void aDatagramWithoutAReceiveIsLost() throws VerbsException {
        needs(Capability.DATAGRAMS);
        sender.deliver(sender.sendTo(way, receiver, 4, 1));
        receiver.postReceive(9);
        sender.deliver(sender.sendTo(way, receiver, 5, 2));
        receiver.await(WorkCompletionStatus.SUCCESS);
        receiver.assertReceived(5, 2);
    }

    @Test
    void aDatagramWithAnotherKeyIsLost() throws VerbsException {
        needs(Capability.DATAGRAMS);
        receiver.postReceive(9);
        sender.deliver(sender.sendTo(way, receiver, 4, 1).to(way, receiver.pair.number(), receiver.key + 1));
        sender.deliver(sender.sendTo(way, receiver, 5, 2));
        receiver.await(WorkCompletionStatus.SUCCESS);
        receiver.assertReceived(5, 2);
    }

    @Test
    void aDatagramToNobodyIsLost() throws VerbsException {
        needs(Capability.DATAGRAMS);
        int number = receiver.pair.number();
        receiver.pair.close();
        sender.deliver(sender.sendTo(way, receiver, 4, 1).to(way, number, receiver.key));
    }

    @Test
    void aDatagramIsAsLongAsAPacketAndNoLonger() throws VerbsException {
        needs(Capability.DATAGRAMS);
        int most = sender.pair.maxDatagramBytes();
        assertTrue(most >= 256 && most <= 4096, "packet of " + most + " bytes");
        receiver.postReceive(9);
        assertEquals(Errno.EINVAL.number(), sender.pair.postSend(sender.sendTo(way, receiver, most + 1, 1)));
        sender.deliver(sender.sendTo(way, receiver, most, 4));
        receiver.await(WorkCompletionStatus.SUCCESS);
        receiver.assertReceived(most, 4);
    }

    @Test
    void whatOnlyConnectionsDoIsRefused() throws VerbsException {
        needs(Capability.DATAGRAMS);
        SendRequest request = sender.send;
        long address = receiver.region.address();
        int key = receiver.region.remoteKey();
        assertEquals(Errno.EINVAL.number(), sender.pair.postSend(request.send(1).add(sender.region, 0, 4)),
                "no destination");
        assertEquals(Errno.EINVAL.number(), sender.pair.postSend(request.write(1, address, key)
                .add(sender.region, 0, 4).to(way, receiver.pair.number(), receiver.key)), "a write");
        assertEquals(Errno.EINVAL.number(), sender.pair.postSend(request.read(1, address, key)
                .add(sender.region, 0, 4).to(way, receiver.pair.number(), receiver.key)), "a read");
    }

    @Test
    void whatOnlyDatagramsHaveIsRefusedByAConnection() throws VerbsException {
        needs(Capability.DATAGRAMS);
        Pair pair = connect();
        pair.active.send.send(1).add(pair.active.region, 0, 4).to(way, 1, 1);
        assertEquals(Errno.EINVAL.number(), pair.active.queuePair.postSend(pair.active.send));
        assertEquals(QueuePairType.RELIABLE_CONNECTION, pair.active.queuePair.type());
        assertEquals(0, pair.active.queuePair.maxDatagramBytes());
    }

    @Test
    void aHandleThatIsClosedOrOfAnotherDomainIsRefused() throws VerbsException {
        needs(Capability.DATAGRAMS);
        SendRequest request = sender.sendTo(way, receiver, 4, 1);
        way.close();
        way.close();
        assertEquals(Errno.EINVAL.number(), sender.pair.postSend(request));
        AddressHandle other = closing(receiver.domain.createAddressHandle(1, pathHere()));
        assertEquals(Errno.EINVAL.number(), sender.pair.postSend(sender.sendTo(other, receiver, 4, 1)));
    }

    @Test
    void aHandleNeedsAPortAndARoutingHeader() throws VerbsException {
        needs(Capability.DATAGRAMS);
        Path path = pathHere();
        refused(Errno.EINVAL, "port=0", () -> sender.domain.createAddressHandle(0, path));
        assertThrows(IndexOutOfBoundsException.class, () -> sender.domain.createAddressHandle(1, sender.batch, 0,
                sender.region.segment().asSlice(0, AddressHandle.ROUTING_HEADER_BYTES - 1)));
        sender.domain.close();
        refusedAsClosed(() -> sender.domain.createAddressHandle(1, path));
    }

    @Test
    void theStepsToReadyAreChecked() throws VerbsException {
        needs(Capability.DATAGRAMS);
        DatagramEnd end = closing(new DatagramEnd(device(), 3));
        assertEquals(QueuePairState.RESET, end.pair.state());
        refused(Errno.EINVAL, "INIT", () -> end.pair.modify(new QueuePairAttributes().state(QueuePairState.INIT)
                .set(Field.PORT, 1).set(Field.PARTITION_KEY_INDEX, 0)));
        refused(Errno.EINVAL, "READY_TO_SEND", () -> end.pair.modify(new QueuePairAttributes()
                .state(QueuePairState.READY_TO_SEND).set(Field.SEND_PACKET_NUMBER, 1)));
        end.ready();
        assertEquals(QueuePairState.READY_TO_SEND, end.pair.state());
        assertEquals(QueuePairType.UNRELIABLE_DATAGRAM, end.pair.type());
        assertEquals(OptionalInt.of(3), end.pair.query().get(Field.QUEUE_KEY));
    }

    @Test
    void aQueuePairThatFailsFlushesItsReceivesAndCanBeReset() throws VerbsException {
        needs(Capability.DATAGRAMS);
        receiver.postReceive(9);
        receiver.pair.fail();
        assertEquals(9, receiver.await(WorkCompletionStatus.FLUSHED));
        receiver.pair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
        receiver.ready();
        receiver.postReceive(10);
        sender.deliver(sender.sendTo(way, receiver, 5, 2));
        assertEquals(10, receiver.await(WorkCompletionStatus.SUCCESS));
        receiver.assertReceived(5, 2);
    }

    @Test
    void aClosedQueuePairRefuses() throws VerbsException {
        needs(Capability.DATAGRAMS);
        SendRequest request = sender.sendTo(way, receiver, 4, 1);
        sender.pair.close();
        sender.pair.close();
        assertEquals(Errno.ESHUTDOWN.number(), sender.pair.postSend(request));
        assertEquals(Errno.ESHUTDOWN.number(), sender.pair.postReceive(new ReceiveRequest(1).receive(1)));
        refusedAsClosed(() -> sender.pair.queryState());
    }

    @Test
    void aDeviceWithoutDatagramsSaysSo() throws VerbsException {
        assumeFalse(device().supports(Capability.DATAGRAMS), device() + " has datagrams");
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        CompletionQueue queue = closing(device().createCompletionQueue(16, null));
        refused(Errno.EOPNOTSUPP, "DATAGRAMS",
                () -> domain.createDatagramQueuePair(QueuePairConfig.signalled(queue, 4, 4, 0)));
        refused(Errno.EOPNOTSUPP, "DATAGRAMS",
                () -> domain.createAddressHandle(1, new Path(device().gid(1, 0), 0)));
        assertEquals(queue.entries(), queue.unreservedEntries());
    }
}
