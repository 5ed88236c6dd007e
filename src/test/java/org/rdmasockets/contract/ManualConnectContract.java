package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.ManualConnection;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairAttributes.Path;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairEndpoint;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;
import org.rdmasockets.verbs.WorkCompletions;

/** A queue pair looped to itself, without a connection manager. */
abstract class ManualConnectContract extends VerbsContract {
    private static void toInit(QueuePair pair) throws VerbsException {
        pair.modify(new QueuePairAttributes().state(QueuePairState.INIT).set(Field.PORT, 1)
                .set(Field.PARTITION_KEY_INDEX, 0).access(Set.of(AccessFlag.REMOTE_WRITE)));
        assertEquals(QueuePairState.INIT, pair.queryState());
    }

    private static void toReadyToReceive(QueuePair pair, Gid gid, int index) throws VerbsException {
        pair.modify(new QueuePairAttributes().state(QueuePairState.READY_TO_RECEIVE)
                .path(new Path(gid, index, 1, 0, 0, 0)).set(Field.PATH_MTU_BYTES, 1024)
                .set(Field.DESTINATION_NUMBER, pair.number()).set(Field.RECEIVE_PACKET_NUMBER, 100)
                .set(Field.MAX_READS_AS_TARGET, 1).set(Field.RECEIVER_NOT_READY_TIMER, 12));
        assertEquals(QueuePairState.READY_TO_RECEIVE, pair.queryState());
    }

    private static void toReadyToSend(QueuePair pair) throws VerbsException {
        pair.modify(new QueuePairAttributes().state(QueuePairState.READY_TO_SEND).set(Field.SEND_PACKET_NUMBER, 100)
                .set(Field.ACKNOWLEDGE_TIMEOUT, 14).set(Field.RETRY_COUNT, 6)
                .set(Field.RECEIVER_NOT_READY_RETRY_COUNT, 7).set(Field.MAX_READS_AS_INITIATOR, 1));
        assertEquals(QueuePairState.READY_TO_SEND, pair.queryState());
    }

    /** Asserts that a query returns the attributes that were set. */
    private static void assertQueried(QueuePair pair, Gid gid, int index) throws VerbsException {
        assertEquals(QueuePairState.READY_TO_SEND, pair.state(), "remembered");
        QueuePairAttributes found = pair.query();
        Path path = found.path();
        // The kernel may choose another hop limit and flow label: it looks the route up.
        assertEquals(new Path(gid, index, path.hopLimit(), 0, 0, 0, path.flowLabel()), path);
        assertEquals(Set.of(AccessFlag.REMOTE_WRITE), found.access());
        Map<Field, Integer> expected = Map.of(Field.PORT, 1, Field.PATH_MTU_BYTES, 1024, Field.DESTINATION_NUMBER,
                pair.number(), Field.RECEIVE_PACKET_NUMBER, 100, Field.SEND_PACKET_NUMBER, 100,
                Field.RECEIVER_NOT_READY_TIMER, 12, Field.ACKNOWLEDGE_TIMEOUT, 14, Field.RETRY_COUNT, 6,
                Field.RECEIVER_NOT_READY_RETRY_COUNT, 7, Field.MAX_READS_AS_INITIATOR, 1);
        expected.forEach((field, value) -> assertEquals(OptionalInt.of(value), found.get(field), field::toString));
    }

    private static void awaitSuccess(CompletionQueue queue, int count) throws VerbsException {
        WorkCompletions batch = queue.newBatch(1);
        long deadline = System.nanoTime() + 30_000_000_000L;
        for (int i = 0; i < count; i += queue.poll(batch)) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("only " + i + " completions within the limit");
            }
        }
        assertEquals(WorkCompletionStatus.SUCCESS, WorkCompletionStatus.of(batch.status(0)));
    }

    @Test
    void aQueuePairIsConnectedToItself() throws VerbsException {
        needs(Capability.MANUAL_CONNECT);
        Device device = device();
        ProtectionDomain domain = closing(device.allocateProtectionDomain());
        CompletionQueue queue = closing(device.createCompletionQueue(20, null));
        QueuePair pair = closing(domain.createQueuePair(QueuePairConfig.signalled(queue, 4, 4, 0)));
        MemorySegment memory = Arena.ofAuto().allocate(100);
        MemoryRegion region = closing(domain.register(memory, Set.of(AccessFlag.LOCAL_WRITE)));
        assertEquals(QueuePairState.RESET, pair.queryState());
        int index = gidIndex(device);
        toInit(pair);
        toReadyToReceive(pair, device.gid(1, index), index);
        toReadyToSend(pair);
        assertQueried(pair, device.gid(1, index), index);
        memory.setString(0, "to myself");
        assertEquals(QueuePair.POSTED, pair.postReceive(new ReceiveRequest(1).receive(1).add(region, 50, 50)));
        assertEquals(QueuePair.POSTED, pair.postSend(new SendRequest(1).send(2).add(region, 0, 10)));
        awaitSuccess(queue, 2);
        assertEquals("to myself", memory.getString(50));
        pair.modify(new QueuePairAttributes().state(QueuePairState.ERROR));
        pair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
        assertEquals(QueuePairState.RESET, pair.queryState());
        assertEquals(QueuePairState.RESET, pair.state(), "remembered");
    }

    @Test
    void twoQueuePairsAreConnectedByWhatTheyTellEachOtherOverTcp() throws Exception {
        needs(Capability.MANUAL_CONNECT);
        Device device = device();
        ProtectionDomain domain = closing(device.allocateProtectionDomain());
        CompletionQueue queue = closing(device.createCompletionQueue(40, null));
        QueuePair one = closing(domain.createQueuePair(QueuePairConfig.signalled(queue, 4, 4, 0)));
        QueuePair two = closing(domain.createQueuePair(QueuePairConfig.signalled(queue, 4, 4, 0)));
        MemoryRegion region = closing(domain.allocate(4096, Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)));
        connectOverTcp(ManualConnection.prepare(one, Set.of(AccessFlag.REMOTE_READ)),
                ManualConnection.prepare(two, Set.of(AccessFlag.REMOTE_READ)));
        assertEquals(QueuePairState.READY_TO_SEND, two.queryState());
        region.segment().setString(0, "to the other");
        assertEquals(QueuePair.POSTED, two.postReceive(new ReceiveRequest(1).receive(1).add(region, 100, 50)));
        assertEquals(QueuePair.POSTED, one.postSend(new SendRequest(1).send(2).add(region, 0, 13)));
        awaitSuccess(queue, 2);
        assertEquals("to the other", region.segment().getString(100));
        assertEquals(QueuePair.POSTED, two.postSend(new SendRequest(1).read(3, region.address(), region.remoteKey())
                .add(region, 200, 13)));
        awaitSuccess(queue, 1);
        assertEquals("to the other", region.segment().getString(200));
    }

    private static void connectOverTcp(ManualConnection one, ManualConnection two) throws Exception {
        try (ServerSocket door = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket out = new Socket(door.getInetAddress(), door.getLocalPort());
                Socket in = door.accept();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            out.setSoTimeout(30_000);
            in.setSoTimeout(30_000);
            Future<QueuePairEndpoint> other = threads.submit(
                    () -> two.local().exchange(in.getInputStream(), in.getOutputStream()));
            one.connect(one.local().exchange(out.getInputStream(), out.getOutputStream()));
            two.connect(other.get());
        }
    }

    @Test
    void aStepThatTheStateDoesNotAllowIsRefused() throws VerbsException {
        needs(Capability.MANUAL_CONNECT);
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        CompletionQueue queue = closing(device().createCompletionQueue(20, null));
        QueuePair pair = closing(domain.createQueuePair(QueuePairConfig.signalled(queue, 4, 4, 0)));
        refused(Errno.EINVAL, "READY_TO_SEND", () -> toReadyToSend(pair));
        assertEquals(QueuePairState.RESET, pair.queryState());
    }

    @Test
    void whereTheDeviceCannotItSaysSo() throws VerbsException {
        if (device().supports(Capability.MANUAL_CONNECT)) {
            return;
        }
        ProtectionDomain domain = closing(device().allocateProtectionDomain());
        CompletionQueue queue = closing(device().createCompletionQueue(20, null));
        refused(Errno.EOPNOTSUPP, "MANUAL_CONNECT",
                () -> domain.createQueuePair(QueuePairConfig.signalled(queue, 4, 4, 0)));
        assertEquals(queue.entries(), queue.unreservedEntries());
    }
}
