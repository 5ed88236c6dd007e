package org.rdmasockets.internal.rsockets;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.WorkCompletionStatus;

/**
 * A model of how the C library behaves as seen from outside, with a single-threaded application: exactly as many
 * receives as credits, credits by what was read, nothing done outside of calls, chunk lengths straight from memory.
 */
final class CPeer implements StreamPeer {
    private static final int LOW_WATER = 2048;
    private static final int CONTROLS = 4;
    private static final long RECEIVE = 1L << 40;
    private static final int OP_DATA = 0;
    private static final int OP_WRITE = 2;
    private static final int OP_UPDATE = 4;
    private static final int OP_CONTROL = 7;

    final FakeQueuePair queuePair;
    private final StreamSettings settings;
    private final SimulatedRegion sendRegion;
    private final SimulatedRegion tableRegion;
    private final SimulatedRegion ringRegion;
    private final int entries;
    private final Plan plan;
    private final Random random;
    private final long writeSeed;
    private final SendRequest request = new SendRequest(2);
    private final ReceiveRequest receive = new ReceiveRequest(1);
    private final Deque<Integer> messages = new ArrayDeque<>();
    private SimulatedWire.End end;
    private ConnectData peer;

    private short sentSequence;
    private short sentLimit;
    private short readSequence;
    private short updateAt;
    private int controlSequence;
    private int controlLimit = CONTROLS;
    private int sendSlots;
    private int sendRoom;
    private int sendOffset;
    private int target;
    private int remoteTarget = 1;
    private int readable;
    private int readOffset;
    private int freeOffset;
    private int receiveSlot;

    private boolean connected = true;
    private boolean mayWrite = true;
    private boolean mayRead = true;
    private boolean error;
    private int closing = -1;
    private boolean closePosted;
    private boolean closeAfter;
    private boolean gone;
    /** For some time a program may write without reading: then nothing is polled as long as it can send. */
    private boolean onlyWrites;
    private int phase;
    private boolean cutOff;
    private long written;
    private long read;
    private boolean sawEnd;

    CPeer(Arena arena, StreamSettings settings, int entries, Plan plan, Random random, long writeSeed) {
        this.settings = settings;
        this.entries = entries;
        this.plan = plan;
        this.random = random;
        this.writeSeed = writeSeed;
        sendRegion = SimulatedRegion.local(arena, settings.sendBufferBytes() + 4L * 16 + 4);
        tableRegion = SimulatedRegion.remote(arena, 16L * entries);
        ringRegion = SimulatedRegion.remote(arena, settings.receiveBufferBytes() + 4L * settings.maxReceives());
        queuePair = new FakeQueuePair(settings, 4, sendRegion, tableRegion, ringRegion);
        updateAt = (short) (settings.maxReceives() / 2);
        sendSlots = settings.maxSends() - CONTROLS;
        sendRoom = settings.sendBufferBytes();
        freeOffset = half();
        readable = half();
    }

    void attach(SimulatedWire.End simulatedEnd) {
        end = simulatedEnd;
    }

    private int half() {
        return settings.receiveBufferBytes() / 2;
    }

    @Override
    public ConnectData localData() {
        return new ConnectData(ConnectData.isNativeBigEndian(), false, settings.maxReceives(), tableRegion.address(),
                tableRegion.remoteKey(), entries, ringRegion.address(), ringRegion.remoteKey(), half(), 0,
                FlowKind.CREDIT_RING, 0);
    }

    @Override
    public void prepare() {
        postReceives(settings.maxReceives());
    }

    private void postReceives(int count) {
        for (int i = 0; i < count; i++) {
            receive.receive(RECEIVE | receiveSlot);
            if (!settings.emptyReceive()) {
                receive.add(ringRegion, settings.receiveBufferBytes() + 4L * receiveSlot, 4);
            }
            receiveSlot = (receiveSlot + 1) % settings.maxReceives();
            queuePair.postReceive(receive);
        }
    }

    @Override
    public void start(ConnectData connectData) {
        peer = connectData;
        sentLimit = (short) peer.credits();
        MemorySegment table = tableRegion.segment();
        table.set(ValueLayout.JAVA_LONG, 0, peer.chunkAddress());
        table.set(ValueLayout.JAVA_INT, 8, peer.chunkKey());
        table.set(ValueLayout.JAVA_INT, 12, peer.chunkBytes());
    }

    @Override
    public boolean deliver() {
        return false;
    }

    private void post(SendRequest posted) {
        int result = queuePair.postSend(posted.signalled());
        if (result != QueuePair.POSTED) {
            throw new AssertionError("C peer: " + Errno.of(result));
        }
    }

    /** Posts the message for what {@code request} writes, or for nothing. */
    private void postMessage(int op, int argument, boolean payload) {
        int message = op << 29 | argument;
        // DISCONNECT is the one whose completion matters.
        long id = (long) op << 32 | (op == OP_CONTROL && argument == 0 ? 1 : 0);
        if (settings.immediateData()) {
            if (!payload) {
                // C leaves these fields as they happen to be.
                request.write(id, 0xDEADBEEFL, 0x1234);
            }
            post(request.immediate(message));
            return;
        }
        if (payload) {
            post(request);
        }
        long offset = settings.sendBufferBytes() + 4L * 16;
        sendRegion.segment().set(ValueLayout.JAVA_INT_UNALIGNED, offset, message);
        post(request.send(id).add(sendRegion, offset, 4).inline());
    }

    private boolean canSend() {
        return sendSlots >= (settings.immediateData() ? 1 : 2) && sendRoom >= LOW_WATER && sentSequence != sentLimit
                && targetLength() != 0;
    }

    private int targetLength() {
        return tableRegion.segment().get(ValueLayout.JAVA_INT, 16L * target + 12);
    }

    private boolean controlAvailable() {
        return controlSequence != controlLimit;
    }

    private boolean allSendsDone() {
        return controlLimit - controlSequence + sendSlots == settings.maxSends();
    }

    private boolean giveCredits() {
        boolean slots = settings.immediateData() ? controlAvailable() : controlSequence + 1 - controlLimit < 0;
        if (!connected || !slots || readable < half() && (short) (readSequence - updateAt) < 0) {
            return false;
        }
        updateAt = (short) (readSequence + settings.maxReceives() / 2);
        int limit = (readSequence & 0xFFFF) + settings.maxReceives();
        boolean chunk = readable >= half();
        if (chunk) {
            long staged = settings.sendBufferBytes() + 16L * (controlSequence & 3);
            MemorySegment memory = sendRegion.segment();
            memory.set(ValueLayout.JAVA_LONG_UNALIGNED, staged, ringRegion.address() + freeOffset);
            memory.set(ValueLayout.JAVA_INT_UNALIGNED, staged + 8, ringRegion.remoteKey());
            memory.set(ValueLayout.JAVA_INT_UNALIGNED, staged + 12, half());
            request.write((long) OP_UPDATE << 32, peer.tableAddress() + 16L * remoteTarget, peer.tableKey())
                    .add(sendRegion, staged, 16);
            readable -= half();
            freeOffset = freeOffset + half() >= settings.receiveBufferBytes() ? 0 : freeOffset + half();
            remoteTarget = (remoteTarget + 1) % peer.tableEntries();
            controlSequence += settings.immediateData() ? 0 : 1;
        }
        controlSequence++;
        postMessage(OP_UPDATE, limit, chunk);
        return true;
    }

    /** One round of the library's progress. */
    private boolean process() {
        boolean changed = giveCredits();
        changed |= poll();
        return changed | giveCredits();
    }

    private boolean poll() {
        int arrived = 0;
        boolean any = false;
        boolean stop = false;
        while (!stop) {
            SimulatedWire.Completion completion = end.poll(random);
            if (completion == null) {
                break;
            }
            any = true;
            if ((completion.workRequestId() & RECEIVE) == 0) {
                sendCompleted(completion);
            } else if (completion.status() == WorkCompletionStatus.SUCCESS) {
                arrived++;
                stop = received(completion);
            }
        }
        if (connected) {
            postReceives(arrived);
        }
        if (end.takePeerLeft()) {
            disconnected();
            any = true;
        }
        return any;
    }

    private boolean received(SimulatedWire.Completion completion) {
        int slot = (int) completion.workRequestId();
        int message = settings.immediateData() ? completion.immediate() : ringRegion.segment()
                .get(ValueLayout.JAVA_INT_UNALIGNED, settings.receiveBufferBytes() + 4L * slot);
        int argument = message & (1 << 29) - 1;
        switch (message >>> 29) {
            case OP_UPDATE -> sentLimit = (short) argument;
            case OP_CONTROL -> {
                if (argument == 0 || argument == 2 && !mayWrite) {
                    disconnected();
                    return argument == 0;
                }
                mayRead &= argument != 2;
            }
            default -> messages.add(argument);
        }
        return false;
    }

    private void disconnected() {
        connected = false;
        mayRead = false;
        mayWrite = false;
    }

    private void sendCompleted(SimulatedWire.Completion completion) {
        int op = (int) (completion.workRequestId() >>> 32);
        if (op == OP_UPDATE || op == OP_CONTROL) {
            controlLimit++;
            if (op == OP_CONTROL && (int) completion.workRequestId() == 1) {
                disconnected();
            }
        } else {
            sendSlots++;
            sendRoom += (int) completion.workRequestId();
        }
        if (completion.status() != WorkCompletionStatus.SUCCESS && connected) {
            error = true;
            disconnected();
        }
    }

    @Override
    public boolean act() {
        if (gone) {
            return false;
        }
        if (closing >= 0) {
            return waitForClose();
        }
        if (--phase < 0) {
            phase = random.nextInt(40);
            onlyWrites = !onlyWrites && random.nextBoolean();
        }
        boolean changed = onlyWrites || random.nextBoolean() ? tryWrite() : tryRead();
        return changed | close();
    }

    /** rsend, not blocking. */
    private boolean tryWrite() {
        if (cutOff || written == plan.bytes()) {
            return false;
        }
        int left = (int) Math.min(1 + random.nextInt(plan.mostPerCall()), plan.bytes() - written);
        int ramp = LOW_WATER;
        boolean changed = false;
        while (left > 0) {
            if (!canSend()) {
                changed |= process();
                if (!mayWrite) {
                    cutOff = true;
                    return true;
                }
                if (!canSend()) {
                    break;
                }
            }
            int count = Math.min(Math.min(left, ramp), Math.min(sendRoom, targetLength()));
            ramp = Math.min(2 * ramp, 65536);
            postData(count);
            left -= count;
            changed = true;
        }
        return changed;
    }

    private void postData(int count) {
        MemorySegment table = tableRegion.segment();
        long address = table.get(ValueLayout.JAVA_LONG, 16L * target);
        int key = table.get(ValueLayout.JAVA_INT, 16L * target + 8);
        int length = targetLength() - count;
        table.set(ValueLayout.JAVA_LONG, 16L * target, address + count);
        table.set(ValueLayout.JAVA_INT, 16L * target + 12, length);
        target = length == 0 ? (target + 1) % entries : target;
        byte[] bytes = new byte[count];
        StreamPeer.fill(bytes, 0, count, writeSeed, written);
        written += count;
        sentSequence++;
        sendSlots -= settings.immediateData() ? 1 : 2;
        sendRoom -= count;
        int first = Math.min(count, settings.sendBufferBytes() - sendOffset);
        request.write((long) (settings.immediateData() ? OP_DATA : OP_WRITE) << 32 | count, address, key);
        MemorySegment.copy(bytes, 0, sendRegion.segment(), ValueLayout.JAVA_BYTE, sendOffset, first);
        request.add(sendRegion, sendOffset, first);
        if (first < count) {
            MemorySegment.copy(bytes, first, sendRegion.segment(), ValueLayout.JAVA_BYTE, 0, count - first);
            request.add(sendRegion, 0, count - first);
        }
        sendOffset = (sendOffset + count) % settings.sendBufferBytes();
        postMessage(OP_DATA, count, true);
    }

    /** rrecv, not blocking. */
    private boolean tryRead() {
        boolean changed = false;
        if (messages.isEmpty()) {
            changed = process();
            if (messages.isEmpty()) {
                boolean ended = !mayRead && !sawEnd;
                sawEnd |= !mayRead;
                return changed | ended;
            }
        }
        int left = 1 + random.nextInt(plan.mostPerCall());
        while (left > 0 && !messages.isEmpty()) {
            int message = messages.remove();
            int count = Math.min(left, message);
            if (count < message) {
                messages.addFirst(message - count);
            } else {
                readSequence++;
            }
            for (int i = 0; i < count; i++) {
                byte got = ringRegion.segment().get(ValueLayout.JAVA_BYTE, (readOffset + i)
                        % settings.receiveBufferBytes());
                StreamPeer.verify(new byte[] {got}, 1, -writeSeed, read + i);
            }
            readOffset = (readOffset + count) % settings.receiveBufferBytes();
            readable += count;
            read += count;
            left -= count;
        }
        return true;
    }

    private boolean close() {
        boolean allWritten = cutOff || written == plan.bytes();
        if (!allWritten) {
            return false;
        }
        if (plan.ending() == Ending.CLOSE || sawEnd) {
            closeAfter = true;
            mayRead = false;
            closing = 0;
        } else if (plan.ending() == Ending.HALF_CLOSE && mayWrite) {
            closing = mayRead ? 2 : 0;
        } else {
            return false;
        }
        mayWrite = false;
        closePosted = !connected;
        return true;
    }

    /** The wait of rshutdown and rclose. */
    private boolean waitForClose() {
        boolean changed = false;
        if (!closePosted && connected) {
            changed = process();
            if (!connected || !controlAvailable()) {
                closePosted = !connected;
                return changed;
            }
            controlSequence++;
            postMessage(OP_CONTROL, closing, false);
            closePosted = true;
            return true;
        }
        changed |= process();
        if (connected && !allSendsDone()) {
            return changed;
        }
        if (!connected && !end.isDead()) {
            end.fail();
        }
        closing = -1;
        if (closeAfter) {
            end.destroy();
            gone = true;
        }
        return true;
    }

    @Override
    public boolean isDone() {
        return gone;
    }

    @Override
    public long written() {
        return written;
    }

    @Override
    public long read() {
        return read;
    }

    @Override
    public boolean sawEnd() {
        return sawEnd;
    }

    @Override
    public String toString() {
        return "C " + plan + " written=" + written + " read=" + read + (sawEnd ? " sawEnd" : "")
                + (cutOff ? " cutOff" : "") + " closing=" + closing + " connected=" + connected + " error=" + error
                + " sseq=" + (sentSequence & 0xFFFF) + "/" + (sentLimit & 0xFFFF) + " rseq=" + (readSequence & 0xFFFF)
                + " sqe=" + sendSlots + " ctrl=" + controlSequence + "/" + controlLimit + " target=" + targetLength();
    }
}
