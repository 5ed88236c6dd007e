package org.rdmasockets.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairAttributes.Path;

/** The steps of a connection by hand, over a device that only writes down what it is told. */
class ManualConnectionTest {
    private static final Gid OURS = gid("00000000000000000000ffff0a4d0001");
    private static final Gid THEIRS = gid("00000000000000000000ffff0a4d0002");
    private static final GidEntry ENTRY = new GidEntry(1, 3, OURS, GidEntry.Type.ROCE_V2, 2);
    private static final QueuePairEndpoint REMOTE = new QueuePairEndpoint(77, 4711, THEIRS, 0, 1024, 4);
    private static final Set<AccessFlag> ACCESS = Set.of(AccessFlag.REMOTE_READ);

    private final List<QueuePairAttributes> steps = new ArrayList<>();
    private PortAttributes port = new PortAttributes(PortAttributes.State.ACTIVE, PortAttributes.LinkLayer.ETHERNET,
            4096, 2048, 1 << 30, 0, 8);

    private static Gid gid(String hex) {
        return new Gid(HexFormat.of().parseHex(hex));
    }

    /** An object that answers some methods. */
    private static <T> T fake(Class<T> type, Map<String, Function<Object[], Object>> answers) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
                (proxy, method, arguments) -> answers.get(method.getName()).apply(arguments)));
    }

    private QueuePair queuePair() {
        DeviceAttributes limits = new DeviceAttributes("", 1, 1, 1, 1, 1, 1, 1, 1, 1, 128, 8);
        Device device = fake(Device.class, Map.of("attributes", a -> limits, "port", a -> port,
                "info", a -> new DeviceInfo("fake0", 0, TransportType.ROCE), "gidTable", a -> List.of(ENTRY)));
        CompletionQueue queue = fake(CompletionQueue.class, Map.of("device", a -> device));
        QueuePairConfig config = QueuePairConfig.signalled(queue, 1, 1, 0);
        return fake(QueuePair.class, Map.of("number", a -> 55, "config", a -> config, "modify", a -> {
            steps.add((QueuePairAttributes) a[0]);
            return null;
        }));
    }

    private int step(int index, Field field) {
        OptionalInt value = steps.get(index).get(field);
        return value.orElseThrow(() -> new AssertionError("step " + index + " does not set " + field));
    }

    @Test
    void theStepsLeadToReady() throws VerbsException {
        ManualConnection connection = ManualConnection.prepare(queuePair(), ACCESS);
        QueuePairEndpoint local = connection.local();
        assertEquals(new QueuePairEndpoint(55, local.packetNumber(), OURS, 0, 2048, 16), local);
        connection.connect(REMOTE);
        assertEquals(List.of(QueuePairState.INIT, QueuePairState.READY_TO_RECEIVE, QueuePairState.READY_TO_SEND),
                steps.stream().map(QueuePairAttributes::state).toList());
        assertEquals(ACCESS, steps.get(0).access());
        assertEquals(1, step(0, Field.PORT));
        assertEquals(new Path(THEIRS, 3), steps.get(1).path());
        assertEquals(77, step(1, Field.DESTINATION_NUMBER));
        assertEquals(4711, step(1, Field.RECEIVE_PACKET_NUMBER));
        assertEquals(1024, step(1, Field.PATH_MTU_BYTES), "the smaller one");
        assertEquals(16, step(1, Field.MAX_READS_AS_TARGET));
        assertEquals(local.packetNumber(), step(2, Field.SEND_PACKET_NUMBER));
        assertEquals(4, step(2, Field.MAX_READS_AS_INITIATOR), "as many as the peer serves");
        assertEquals(6, step(2, Field.RETRY_COUNT), "7 is for ever on soft-RoCE");
        assertEquals(6, step(2, Field.RECEIVER_NOT_READY_RETRY_COUNT), "7 is for ever");
    }

    @Test
    void whatIsAskedForReplacesWhatIsUsual() throws VerbsException {
        Path path = new Path(THEIRS, 3, 2, 104, 0, 5);
        ManualConnection.prepare(queuePair(), ACCESS, ENTRY).connect(REMOTE, new QueuePairAttributes().path(path)
                .set(Field.PATH_MTU_BYTES, 256).set(Field.RETRY_COUNT, 1).acknowledgeTimeout(
                ChronoUnit.FOREVER.getDuration()).receiverNotReadyTimer(Duration.ofNanos(10_000)));
        assertEquals(path, steps.get(1).path());
        assertEquals(256, step(1, Field.PATH_MTU_BYTES));
        assertEquals(1, step(1, Field.RECEIVER_NOT_READY_TIMER));
        assertEquals(1, step(2, Field.RETRY_COUNT));
        assertEquals(0, step(2, Field.ACKNOWLEDGE_TIMEOUT));
        assertEquals(OptionalInt.empty(), steps.get(1).get(Field.RETRY_COUNT), "each in its own step");
    }

    @Test
    void withinAnInfiniBandSubnetTheLidIsEnough() throws VerbsException {
        port = new PortAttributes(PortAttributes.State.ACTIVE, PortAttributes.LinkLayer.INFINIBAND, 4096, 4096, 1 << 30,
                9, 8);
        ManualConnection connection = ManualConnection.prepare(queuePair(), ACCESS, ENTRY);
        assertEquals(9, connection.local().lid());
        connection.connect(new QueuePairEndpoint(77, 1, THEIRS, 12, 4096, 1));
        assertEquals(12, steps.get(1).path().destinationLid());
        assertTrue(steps.get(1).path().destination().isZero());
    }

    @Test
    void whatIsNotForTheCallerIsRefused() throws VerbsException {
        ManualConnection connection = ManualConnection.prepare(queuePair(), ACCESS, ENTRY);
        for (QueuePairAttributes wrong : List.of(new QueuePairAttributes().set(Field.SEND_PACKET_NUMBER, 1),
                new QueuePairAttributes().set(Field.PORT, 1), new QueuePairAttributes().state(QueuePairState.ERROR),
                new QueuePairAttributes().access(ACCESS))) {
            assertThrows(IllegalArgumentException.class, () -> connection.connect(REMOTE, wrong), wrong::toString);
        }
        assertEquals(1, steps.size(), "refused before the first step");
    }

    @Test
    void withoutAnActivePortItSaysWhy() {
        port = new PortAttributes(PortAttributes.State.DOWN, PortAttributes.LinkLayer.ETHERNET, 4096, 1024, 1, 0, 8);
        VerbsException e = assertThrows(VerbsException.class, () -> ManualConnection.prepare(queuePair(), ACCESS));
        assertEquals(Errno.ENODEV, e.errno());
        assertTrue(e.getMessage().contains("port 1 is DOWN"), e::getMessage);
    }
}
