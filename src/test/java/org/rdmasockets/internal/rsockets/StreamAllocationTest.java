package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.net.SocketException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;

/** The data path makes no garbage. */
class StreamAllocationTest {
    private static final int WARM_UP = 60_000;
    private static final int MESSAGES = 50_000;
    private static final int LENGTH = 100;
    private static final int CHUNK = 80 * LENGTH;

    /** Takes requests and remembers what the loop below needs to complete them. */
    private static final class Sink implements QueuePair {
        private final long[] sends = new long[64];
        private int count;
        private long receive;

        @Override
        public int postSend(SendRequest request) {
            sends[count++] = request.workRequestId();
            return POSTED;
        }

        @Override
        public int postReceive(ReceiveRequest request) {
            receive = request.workRequestId();
            return POSTED;
        }

        @Override
        public int postReceives(ReceiveRequest request, long firstWorkRequestId, int count) {
            receive = firstWorkRequestId + count - 1;
            return POSTED;
        }

        @Override
        public int number() {
            return 1;
        }

        @Override
        public QueuePairConfig config() {
            throw new UnsupportedOperationException();
        }

        @Override
        public int maxInlineBytes() {
            return 16;
        }

        @Override
        public QueuePairState queryState() {
            return QueuePairState.UNKNOWN;
        }

        @Override
        public void modify(QueuePairAttributes attributes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void fail() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            throw new UnsupportedOperationException();
        }
    }

    /** One end that talks to itself: what it sends completes at once and arrives as its own data. */
    private static final class Loop {
        private final Sink sink = new Sink();
        private final SimulatedRegion sendRegion;
        private final SimulatedRegion remoteRegion;
        private final StreamConnection connection;
        private final boolean immediateData;
        private final byte[] buffer = new byte[LENGTH];
        private final long slots;
        private final FlowKind flow;
        private final int stride;
        /** Where positions are read to. */
        private final long sink0;
        private long written;
        private long limit;
        private int sentIntoChunk;
        private int nextEntry = 1;

        Loop(Arena arena, boolean immediateData, FlowKind flow) throws SocketException {
            this.immediateData = immediateData;
            this.flow = flow;
            StreamSettings settings = new StreamSettings(immediateData, immediateData, immediateData, false, 64, 64,
                    2 * CHUNK, 2 * CHUNK, 2 * CHUNK, CHUNK, 65_536, 0, FlowKind.CREDIT_RING,
                    4096).withFlow(flow, LENGTH);
            sendRegion = SimulatedRegion.local(arena, settings.sendRegionBytes());
            remoteRegion = SimulatedRegion.remote(arena, settings.remoteRegionBytes());
            slots = RegionLayout.of(settings).incomingOffset();
            stride = RegionLayout.receiveStride(settings);
            sink0 = RegionLayout.of(settings).ringOffset() - RegionLayout.SINK_BEFORE_RING;
            connection = new StreamConnection(sink, sendRegion, remoteRegion, settings, 0);
            connection.postReceives();
            ConnectData own = connection.localData();
            connection.start(own);
            limit = own.credits();
            if (flow == FlowKind.CREDIT_RING) {
                entry();
                complete();
                arrive(ImmediateData.update(limit), 16);
            }
        }

        private void entry() {
            remoteRegion.segment().set(ValueLayout.JAVA_LONG, 16L * nextEntry, 0x10000);
            remoteRegion.segment().set(ValueLayout.JAVA_INT, 16L * nextEntry + 12, CHUNK);
            nextEntry = 1 - nextEntry;
        }

        private void complete() {
            int posted = sink.count;
            sink.count = 0;
            for (int i = 0; i < posted; i++) {
                connection.onCompletion(sink.sends[i], 0, CompletionOpcode.WRITE, 0, false, 0);
            }
        }

        private void arrive(int message, int length) {
            if (!immediateData) {
                sendRegion.segment().set(ValueLayout.JAVA_INT,
                        slots + (long) stride * WorkRequestId.index(sink.receive), message);
            }
            connection.onCompletion(sink.receive, 0, CompletionOpcode.RECEIVE, immediateData ? length
                    : flow == FlowKind.SEND_RECEIVE ? length + 4 : 4, immediateData, message);
        }

        /** The peer has read everything, and says so where it is asked. */
        private void position() {
            for (int i = 0; i < 4 && flow == FlowKind.READ_RING; i++) {
                remoteRegion.segment().set(ValueLayout.JAVA_LONG, sink0 + 8L * i,
                        i % 2 == 0 ? written * LENGTH : written);
            }
        }

        private void runOther(int messages) throws SocketException {
            for (int i = 0; i < messages; i++) {
                assertEquals(LENGTH, connection.write(buffer, 0, LENGTH));
                written++;
                limit++;
                arrive(flow == FlowKind.READ_RING ? LENGTH : ImmediateData.limit(limit), LENGTH);
                assertEquals(LENGTH, connection.read(buffer, 0, LENGTH));
                position();
                complete();
            }
        }

        void run(int messages) throws SocketException {
            if (flow != FlowKind.CREDIT_RING) {
                runOther(messages);
                return;
            }
            for (int i = 0; i < messages; i++) {
                assertEquals(LENGTH, connection.write(buffer, 0, LENGTH));
                arrive(LENGTH, LENGTH);
                assertEquals(LENGTH, connection.read(buffer, 0, LENGTH));
                complete();
                sentIntoChunk += LENGTH;
                limit++;
                if (sentIntoChunk % CHUNK == 0) {
                    entry();
                    arrive(ImmediateData.update(limit), 16);
                } else {
                    arrive(ImmediateData.update(limit), 0);
                }
                complete();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"true, CREDIT_RING", "false, CREDIT_RING", "true, SEND_RECEIVE", "false, SEND_RECEIVE",
        "true, READ_RING", "false, READ_RING"})
    void readsAndWritesAllocateNothing(boolean immediateData, FlowKind flow) throws SocketException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (Arena arena = Arena.ofConfined()) {
            Loop loop = new Loop(arena, immediateData, flow);
            loop.run(WARM_UP);
            long before = threads.getCurrentThreadAllocatedBytes();
            loop.run(MESSAGES);
            long bytes = threads.getCurrentThreadAllocatedBytes() - before;
            // Less than a byte per message: what is left is the measurement and the compiler's doing.
            assertTrue(bytes < MESSAGES, bytes + " bytes for " + MESSAGES + " messages");
        }
    }
}
