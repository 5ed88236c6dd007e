package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.sharedmemory.FaultDoor;
import org.rdmasockets.verbs.ConnectionEvent.ConnectRequest;
import org.rdmasockets.verbs.ConnectionEvent.DeviceRemoved;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** Faults that a network card may have and memory never has, made to happen. */
class FaultsTest extends VerbsContract {
    /** One per test: a removed device stays removed. */
    private final FaultDoor door = new FaultDoor(false);

    @Override
    VerbsFixture fixture() {
        return new VerbsFixture(door.provider(), FaultDoor.device(), InetAddress.ofLiteral("127.0.0.1"));
    }

    private static void write(Pair pair, long id) {
        pair.active.send.write(id, pair.passive.region.address(), pair.passive.region.remoteKey())
                .add(pair.active.region, 0, 10).signalled();
        pair.active.postSend();
    }

    @Test
    void completionsAreLost() throws VerbsException {
        Pair pair = connect();
        door.keepCompletions(pair.active.queuePair);
        write(pair, 1);
        write(pair, 2);
        assertEquals(2, door.drop());
        write(pair, 3);
        pair.active.awaitSuccess(3);
        assertEquals(0, pair.active.pollNow());
    }

    @Test
    void completionsAreDelayedAndComeInAnotherOrder() throws VerbsException {
        Pair pair = connect();
        Pair other = connect();
        door.keepCompletions(pair.active.queuePair);
        write(pair, 1);
        write(pair, 2);
        write(other, 3);
        other.active.awaitSuccess(3);
        assertEquals(0, pair.active.pollNow());
        assertEquals(2, door.deliver(true));
        pair.active.awaitSuccess(2);
        pair.active.awaitSuccess(1);
    }

    @Test
    void receivesKeepWhatTheyBringWhenTheyAreDelayed() throws VerbsException {
        Pair pair = connect();
        door.keepCompletions(pair.passive.queuePair);
        pair.passive.postReceive(7, 0, 10);
        pair.active.send.send(1).immediate(99).add(pair.active.region, 0, 5).signalled();
        pair.active.postSend();
        pair.active.awaitSuccess(1);
        assertEquals(0, pair.passive.pollNow());
        assertEquals(1, door.deliver(false));
        End.Done done = pair.passive.awaitSuccess(7);
        assertEquals(5, done.lengthBytes());
        assertEquals(99, done.immediate());
    }

    @Test
    void completionsFail() throws VerbsException {
        Pair pair = connect();
        door.keepCompletions(pair.active.queuePair);
        write(pair, 1);
        door.fail(WorkCompletionStatus.LOCAL_QUEUE_PAIR_OPERATION_ERROR);
        assertEquals(WorkCompletionStatus.LOCAL_QUEUE_PAIR_OPERATION_ERROR, pair.active.await().status());
    }

    @Test
    void receivesAreThereButNotReady() throws VerbsException {
        Pair pair = connect();
        door.hideReceives(pair.passive.queuePair, true);
        pair.passive.postReceive(1, 0, 10);
        pair.active.send.send(2).add(pair.active.region, 0, 10).signalled();
        pair.active.postSend();
        assertEquals(0, pair.active.pollNow());
        door.hideReceives(pair.passive.queuePair, false);
        pair.passive.postReceive(3, 0, 10);
        pair.active.awaitSuccess(2);
        pair.passive.awaitSuccess(1);
    }

    @Test
    void aReceiverThatIsNeverReadyEndsTheRetries() throws VerbsException {
        ConnectionEvents requests = new ConnectionEvents();
        ConnectionIdentifier listener = closing(Pair.listen(loop(), fixture().address(), requests));
        ConnectionEvents events = new ConnectionEvents();
        End active = closing(new End(closing(Pair.resolve(loop(), listener.localAddress(), events)), events));
        active.identifier.connect(Pair.PARAMETERS);
        ConnectionIdentifier request = closing(requests.await(ConnectRequest.class).identifier());
        End passive = closing(new End(request, new ConnectionEvents()));
        passive.queuePair.modify(new QueuePairAttributes().set(Field.RECEIVER_NOT_READY_TIMER, 1));
        request.accept(new ConnectionParameters(new byte[0], 1, 1, 6, 2));
        events.await(Established.class);
        active.send.send(1).add(active.region, 0, 10).signalled();
        active.postSend();
        active.send.write(2, passive.region.address(), passive.region.remoteKey()).add(active.region, 0, 10);
        active.postSend();
        assertEquals(WorkCompletionStatus.RECEIVER_NOT_READY_RETRY_EXCEEDED, active.await().status());
        assertEquals(WorkCompletionStatus.FLUSHED, active.await().status());
    }

    @Test
    void queuesAreFull() throws VerbsException {
        Pair pair = connect();
        door.fill(pair.active.queuePair, true);
        pair.active.send.send(1).add(pair.active.region, 0, 10);
        pair.active.receive.receive(1).add(pair.active.region, 0, 10);
        assertEquals(Errno.ENOMEM.number(), pair.active.queuePair.postSend(pair.active.send));
        assertEquals(Errno.ENOMEM.number(), pair.active.queuePair.postReceive(pair.active.receive));
        door.fill(pair.active.queuePair, false);
        write(pair, 2);
        pair.active.awaitSuccess(2);
    }

    @Test
    void theDeviceIsRemoved() throws VerbsException {
        Pair pair = connect();
        pair.passive.postReceive(1, 0, 10);
        door.removeDevice();
        pair.active.events.await(DeviceRemoved.class);
        pair.passive.events.await(DeviceRemoved.class);
        assertEquals(WorkCompletionStatus.FLUSHED, pair.passive.await().status());
        List<DeviceEvent> events = new ArrayList<>();
        device().drainEvents(events::add);
        assertEquals(List.of(DeviceEvent.Type.DEVICE_FATAL), events.stream().map(DeviceEvent::type).toList());
        ConnectionIdentifier identifier = closing(loop().manager().createIdentifier(new ConnectionEvents()));
        refused(Errno.ENODEV, "removed", () -> identifier.bind(new InetSocketAddress(fixture().address(), 0)));
    }
}
