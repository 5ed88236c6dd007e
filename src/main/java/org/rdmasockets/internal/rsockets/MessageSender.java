package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.spi.SendHints;

/**
 * The send queue: posts messages in either form, and knows what is outstanding. A message is one request on InfiniBand
 * and RoCE, a write with immediate data, or several that have joined; on iWARP a send, after a write for a payload.
 *
 * <p>Requests are numbered by the slots of a ring and complete in that order, so one completion also stands for all
 * requests before it. On InfiniBand and RoCE one request of data is signalled in each quarter of the slots, and of the
 * send ring: so a sender that waits for room never waits for a completion that does not come. Requests after the last
 * signalled one are confirmed when {@link StreamConnection#confirm} asks for it, see {@link #isUnsignalled}. On iWARP
 * all are signalled, also the write before its message: the completion of the message alone would not show that the
 * kernel has let go of the payload.
 *
 * <p>A read has a slot of its own, and one is outstanding at most: soft-iWARP completes it after what was posted later.
 *
 * <p>Four slots are kept for control messages, and no more than four of those are ever outstanding: a limit that C
 * keeps and that its receive queue counts on.
 */
final class MessageSender {
    /** Most outstanding requests of control messages. */
    static final int CONTROL_SLOTS = 4;

    /** Kind and length of a request are kept in one number. */
    private static final int KIND_SHIFT = 29;
    /** Requests for which there is room at first; a power of two. */
    private static final int FIRST_ROOM = 2;
    /** Longer data has its own message, which costs little beside the data. */
    private static final int MOST_JOINING_BYTES = 4 << 10;
    /** Data is signalled once in this part of the slots and of the send ring. */
    private static final int SIGNAL_PART = 4;

    final QueuePair queuePair;
    /** Memory for outgoing messages; null if there is no send region. */
    private final Stage stage;
    final StreamSettings settings;
    final long idBase;
    private final int mostInline;
    final boolean immediateData;
    /** Slots of all requests but a read: at most {@link StreamSettings#MAX_QUEUE}, as for all counts of them. */
    private final char maxSends;
    private final char mostUnsignalled;
    private final SendRequest request = new SendRequest(StreamSettings.MOST_SEND_ELEMENTS);
    final SendBuffer ring;
    /** Kind and kept bytes of each outstanding request, at its number since the start; the length is a power of two. */
    private int[] requests = new int[FIRST_ROOM];
    /** The slot of the next request. */
    private char head;
    private int outstanding;
    private byte outstandingControl;
    private byte outstandingKeepalives;
    private boolean reading;
    private long completed;
    /** Requests after the last signalled one, and what they keep of the send ring. */
    private char unsignalled;
    private int unsignalledBytes;
    /** Length of the last message if data may join it, else 0. */
    private int openBytes;

    /** Where outgoing messages lie, and if {@code entries}, the announcements of chunks that go with them. */
    private record Stage(MemoryRegion region, RegionLayout layout, boolean entries) {}

    /** An empty queue; the region is null if there is none, the base is the connection's part of identifiers. */
    MessageSender(QueuePair queuePair, MemoryRegion region, SendBuffer ring, StreamSettings settings, long idBase) {
        this.queuePair = queuePair;
        this.stage = region == null ? null : new Stage(region, RegionLayout.of(settings), !settings.copiesAtPost());
        this.settings = settings;
        this.idBase = idBase;
        mostInline = settings.copiesAtPost() ? -1 : queuePair.maxInlineBytes() - settings.headerBytes();
        immediateData = settings.immediateData();
        maxSends = (char) (settings.maxSends() - (settings.flow() == FlowKind.READ_RING ? 1 : 0));
        mostUnsignalled = (char) (immediateData ? (maxSends - CONTROL_SLOTS) / SIGNAL_PART - 1 : 0);
        this.ring = ring;
    }

    /** Adds the entry that announces a chunk; unless the device copies it, it lies in a slot below CONTROL_SLOTS. */
    void addEntry(SendRequest announcing, byte[] entry, int slot) {
        if (stage == null || !stage.entries) {
            // The peer's entry is not written again before the peer has taken it.
            announcing.hints(SendHints.RELAXED).bytes(entry, 0, entry.length);
            return;
        }
        long offset = stage.layout.stagedOffset() + (long) slot * entry.length;
        MemorySegment.copy(entry, 0, stage.region.segment(), ValueLayout.JAVA_BYTE, offset, entry.length);
        announcing.add(stage.region, offset, entry.length);
    }

    /** Whether one data message can be posted: there are free slots besides those for control messages. */
    boolean hasDataSlot() {
        int needed = immediateData ? 1 : 2;
        return outstanding - outstandingControl + needed <= maxSends - CONTROL_SLOTS;
    }

    /** Whether enough control slots are free for a control message, which may carry a chunk. */
    boolean hasControlSlot(boolean withPayload) {
        int needed = withPayload && !immediateData ? 2 : 1;
        return outstandingControl + needed <= CONTROL_SLOTS;
    }

    /** Whether a payload is so small that it is copied when it is posted. */
    boolean isInline(int bytes) {
        return bytes <= mostInline;
    }

    /** Starts a message to the peer's address, to which the caller adds the payload; {@link #finish} posts it. */
    SendRequest begin(int kind, long address, int key) {
        return request.write(WorkRequestId.of(idBase, kind, head), address, key);
    }

    /** Posts the message that was begun, and keeps so much of the send ring until completion: POSTED or an error. */
    int finish(int kind, int bytes, int kept, int message) {
        if (immediateData) {
            request.immediate(message);
        }
        int error = postPayload(kind, bytes, kept);
        return immediateData || isError(error) ? error : send(kind, message);
    }

    /**
     * Posts data that was begun: {@code POSTED}, {@code JOINED} or an error number. The data may join the message
     * before it, if that ended where this data begins and the peer has not taken it; {@code more} if further data may
     * follow before the peer answers.
     */
    int finishData(int bytes, int kept, boolean more) {
        int before = openBytes;
        boolean small = bytes <= MOST_JOINING_BYTES && immediateData;
        boolean open = small && more;
        boolean joins = small && before > 0 && before <= ImmediateData.MAX_ARGUMENT - bytes;
        request.hints(SendHints.RELAXED | (open ? SendHints.OPEN : 0) | (joins ? SendHints.JOINING : 0),
                joins ? ImmediateData.data(before + bytes) : 0);
        int result = finish(WorkRequestId.DATA, bytes, kept, ImmediateData.data(bytes));
        if (result == SendHints.JOINED) {
            openBytes = before + bytes;
        } else if (open && result == QueuePair.POSTED) {
            openBytes = bytes;
        }
        return result;
    }

    /** Lets no data join the last message, because the next goes to another place. */
    void close() {
        openBytes = 0;
    }

    /** Starts a message into the peer's receive, to which the caller adds the payload; see {@link #finishSend}. */
    SendRequest beginSend(int message) {
        request.send(WorkRequestId.of(idBase, WorkRequestId.DATA, head));
        int header = settings.headerBytes();
        return header == 0 ? request : request.add(stage.region, stage(message), header);
    }

    /** Posts the message that was begun, as {@link #finish} does. */
    int finishSend(int bytes, int kept, int message) {
        if (immediateData) {
            request.immediate(message);
        }
        return postPayload(WorkRequestId.DATA, bytes, kept);
    }

    /** Posts a read; none is outstanding. {@link QueuePair#POSTED} or an error number. */
    int postRead(MemoryRegion into, long offset, int bytes, long address, int key) {
        assert !reading;
        int error = queuePair.postSend(request.read(WorkRequestId.of(idBase, WorkRequestId.POSITION, 0), address, key)
                .add(into, offset, bytes).signalled());
        reading = error == QueuePair.POSTED;
        return error;
    }

    /** Posts the payload that was begun; the peer is not told of it here. */
    int postPayload(int kind, int bytes, int kept) {
        if (bytes <= mostInline) {
            request.inline();
        }
        // On iWARP each is signalled: none may be unsignalled.
        return post(kind, kept, kind != WorkRequestId.DATA || unsignalled >= mostUnsignalled
                || unsignalledBytes + kept >= ring.capacity / SIGNAL_PART);
    }

    /** Whether the last request may be outstanding, and no posted request will show its completion. */
    boolean isUnsignalled() {
        return unsignalled > 0;
    }

    /** Posts a message without a payload. On InfiniBand it is a write of 0 bytes, whose address is not checked. */
    int postMessage(int kind, int message) {
        if (!immediateData) {
            return send(kind, message);
        }
        request.write(WorkRequestId.of(idBase, kind, head), 0, 0).immediate(message);
        return post(kind, 0, true);
    }

    /** Posts a write of nothing, invisible to the peer, but its device must answer: POSTED or an error number. */
    int postKeepalive() {
        request.write(WorkRequestId.of(idBase, WorkRequestId.KEEPALIVE, head), 0, 0);
        return post(WorkRequestId.KEEPALIVE, 0, true);
    }

    /** In our own byte order: iWARP ends of different order do not understand each other, which start() refuses. */
    private long stage(int message) {
        long offset = stage.layout.outgoingOffset() + (long) head * ImmediateData.BYTES;
        stage.region.segment().set(ValueLayout.JAVA_INT, offset, message);
        return offset;
    }

    private int send(int kind, int message) {
        long offset = stage(message);
        request.send(WorkRequestId.of(idBase, kind, head)).add(stage.region, offset, ImmediateData.BYTES);
        if (isInline(ImmediateData.BYTES)) {
            request.inline();
        }
        return post(kind, 0, true);
    }

    private int post(int kind, int kept, boolean signalled) {
        assert outstanding < maxSends;
        if (signalled) {
            request.signalled();
        }
        int error = queuePair.postSend(request);
        if (ring.copiesAtPost) {
            request.clear(); // it may refer to an array of the application
        }
        openBytes = 0;
        if (error != QueuePair.POSTED && isError(error)) {
            return error;
        }
        if (outstanding == requests.length) {
            grow();
        }
        requests[(int) completed + outstanding & requests.length - 1] = kind << KIND_SHIFT | kept;
        head = (char) (head + 1 == maxSends ? 0 : head + 1);
        outstanding++;
        unsignalled = (char) (signalled ? 0 : unsignalled + 1);
        unsignalledBytes = signalled ? 0 : unsignalledBytes + kept;
        if (kind != WorkRequestId.DATA) {
            count(kind, 1);
        }
        return error;
    }

    /** Whether a post was not taken. */
    static boolean isError(int result) {
        return result != QueuePair.POSTED && result != SendHints.JOINED;
    }

    /** Doubles the room of a full ring: each request stays where it is, or moves up by as much as there was. */
    private void grow() {
        int all = requests.length;
        requests = Arrays.copyOf(requests, 2 * all);
        System.arraycopy(requests, 0, requests, all, all);
    }

    private void count(int kind, int change) {
        if (kind != WorkRequestId.DATA) {
            outstandingControl += (byte) change;
        }
        if (kind == WorkRequestId.KEEPALIVE) {
            outstandingKeepalives += (byte) change;
        }
    }

    /**
     * Retires a request and all before it; a read retires alone. Returns how many bytes of the send ring they kept, 0
     * if they were retired before.
     */
    int complete(long workRequestId) {
        if (WorkRequestId.kind(workRequestId) == WorkRequestId.POSITION) {
            reading = false;
            return 0;
        }
        int slot = WorkRequestId.index(workRequestId);
        int tail = head - outstanding;
        int age = slot - (tail < 0 ? tail + maxSends : tail);
        age += age < 0 ? maxSends : 0;
        if (slot >= maxSends || age >= outstanding) {
            return 0;
        }
        int kept = 0;
        for (int i = 0; i <= age; i++) {
            int one = requests[(int) completed + i & requests.length - 1];
            kept += one & ImmediateData.MAX_ARGUMENT;
            count(one >>> KIND_SHIFT, -1);
        }
        outstanding -= age + 1;
        // A request that fails completes whether signalled or not.
        unsignalled = (char) Math.min(unsignalled, outstanding);
        completed += age + 1;
        return kept;
    }

    /** How many requests are outstanding: requests, not messages. */
    int outstanding() {
        return outstanding + (reading ? 1 : 0);
    }

    /** How many requests were posted since the start, without reads. */
    long posted() {
        return completed + outstanding;
    }

    boolean hasKeepalive() {
        return outstandingKeepalives > 0;
    }

    /** How many requests have completed since the start, without reads. */
    long completed() {
        return completed;
    }
}
