package org.rdmasockets.internal.rsockets;

import java.net.SocketException;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.QueuePair;

/**
 * One end of a byte stream. Completions and other events go in, requests come out, and no method waits: what is not
 * possible now returns 0, and becomes possible by a later completion.
 *
 * <p>Order of life: make it, {@link #postReceives}, connect or accept with {@link #localData}, {@link #start} when the
 * queue pair can send, then reads and writes; completions are welcome from the beginning. At the end
 * {@link #disconnect} and, once {@link #drained}, or at any time, {@link #abort}. After that this never touches its
 * queue pair and its memory again, so that the owner may free both; late completions may be delivered all the same.
 *
 * <p>When {@link #failure} tells that the connection is over, or {@link #peerDisconnected} while something is
 * {@linkplain #isAwaited awaited}, the owner moves the queue pair to the error state.
 *
 * <p>Threads: not thread-safe; all calls under one lock.
 */
public final class StreamConnection {
    /** The message of the exception that a read throws while a view is open. */
    public static final String VIEW_OPEN = "what was received last is still open: close it before the next read";

    final MessageSender sendQueue;
    final MessageReceiver receiveQueue;
    private final StreamMemory memory;
    final ShutdownState closing;
    /** The flow that the ends have agreed on, until then the one that this end would like. And what it has received. */
    private Flow flow;
    private Received received;
    /**
     * The messages from before the ends have agreed, at most one for each receive, for none is posted again meanwhile.
     * Null where their meaning is clear, as this end proposes rsockets' own flow.
     */
    private Queue<EarlyMessage> early;
    /** The accepting end of iWARP must not speak before it has heard the other; see {@link #startAccepted}. */
    private boolean listening;
    private boolean heard;
    /** The flow has started. */
    private boolean started;
    private StreamFailure failure;
    private boolean aborted;
    /** Something is to be told to the peer, which could not be told yet. */
    private boolean owed;
    /** Bytes that were read and written so far. */
    private long readBytes;
    private long writtenBytes;
    /** Null until it is needed. */
    private DirectSender directSender;

    /** A message that came early. */
    private record EarlyMessage(int slot, int message, int lengthBytes) {}

    /**
     * One end that is not connected yet.
     *
     * @param queuePair with {@link StreamSettings#sendElements}, one receive element and the depths of the settings
     * @param sendRegion at least {@link StreamSettings#sendRegionBytes} with LOCAL_WRITE; null if that is 0
     * @param remoteRegion at least {@link StreamSettings#remoteRegionBytes} with LOCAL_WRITE and REMOTE_WRITE, and
     *        REMOTE_READ for {@link FlowKind#READ_RING}; all zero, as a device allocates it: a peer may claim to have
     *        written what it did not write, and must not make us show bytes that another connection left there
     * @param settings the sizes
     * @param workRequestIdBase goes into all work request identifiers; its low 24 bits are 0
     * @throws IllegalArgumentException if a region is too small, or the base has low bits
     */
    public StreamConnection(QueuePair queuePair, MemoryRegion sendRegion, MemoryRegion remoteRegion,
            StreamSettings settings, long workRequestIdBase) {
        RegionLayout.of(settings).check(sendRegion, remoteRegion);
        if ((workRequestIdBase & (1L << WorkRequestId.BITS) - 1) != 0) {
            throw new IllegalArgumentException("the low 24 bits are ours: " + Long.toHexString(workRequestIdBase));
        }
        closing = new ShutdownState(!settings.immediateData());
        SendBuffer sendBuffer = SendBuffer.of(sendRegion, settings);
        sendQueue = new MessageSender(queuePair, sendRegion, sendBuffer, settings, workRequestIdBase);
        receiveQueue = new MessageReceiver(sendQueue, sendRegion, settings);
        memory = new StreamMemory(new ChunkStock(remoteRegion, settings), sendBuffer);
        use(settings.flow());
        early = settings.flow() == FlowKind.CREDIT_RING ? null : new ArrayDeque<>(0);
    }

    /** The region that the peer knows. */
    MemoryRegion remoteRegion() {
        return memory.chunks.region;
    }

    StreamSettings settings() {
        return sendQueue.settings;
    }

    private void use(FlowKind kind) {
        flow = Flow.of(kind, this);
        received = flow.received();
    }

    /** The private data for connect or accept, which tells the peer where to write to us. */
    public ConnectData localData() {
        return RegionLayout.of(settings()).describe(remoteRegion());
    }

    /** Posts all receives; before connect or accept, because the peer may send at once. */
    public void postReceives() throws SocketException {
        failUnlessPosted("ibv_post_recv", receiveQueue.postAll());
        if (failure != null) {
            throw failure.exception();
        }
    }

    /** Begins to talk as agreed, once, when the queue pair can send; what came before counts. Throws if it cannot. */
    public void start(ConnectData peer) throws SocketException {
        if (!settings().immediateData() && peer.bigEndian() != ConnectData.isNativeBigEndian()) {
            throw new SocketException("over iWARP, hosts of different byte order do not understand each other's"
                    + " rsockets messages");
        }
        if (early != null && peer.flow() != flow.kind()) {
            use(FlowKind.CREDIT_RING);
        }
        if (flow.kind() != FlowKind.CREDIT_RING) {
            memory.chunks.refuse(); // for good: none is lent
        }
        if (closing.isInputShut()) {
            received.discard();
        }
        String wrong = flow.start(peer);
        while (wrong == null && early != null && !early.isEmpty()) {
            EarlyMessage next = early.remove();
            wrong = flow.arrived(next.slot, next.message, next.lengthBytes);
        }
        early = null;
        failIf(wrong);
        started = true;
        sendControls();
    }

    /** How the stream is carried: what the ends have agreed on; before {@link #start}, what this end would like. */
    public FlowKind flow() {
        return flow.kind();
    }

    /**
     * Begins to talk as the end that accepted. Over iWARP the other end sends first (RFC 5044, 7.1): soft-iWARP takes
     * data behind its answer for an error. If the other end has nothing to say, {@link #speak} ends this end's wait.
     */
    public void startAccepted(ConnectData peer) throws SocketException {
        listening = !settings().immediateData();
        start(peer);
    }

    /** Tells whether this end holds back what it has to say, until the peer speaks or {@link #speak} is called. */
    public boolean isListening() {
        return listening && !heard;
    }

    /** Speaks although the peer has said nothing; when it has had time to take notice of the connection. */
    public void speak() {
        listening = false;
        sendControls();
    }

    /** Takes a completion; with a status other than 0 only the identifier counts. Never throws for what a peer sent. */
    public void onCompletion(long workRequestId, int status, CompletionOpcode opcode, int lengthBytes,
            boolean hasImmediate, int immediate) {
        int kind = WorkRequestId.kind(workRequestId);
        boolean receive = kind == WorkRequestId.RECEIVE;
        boolean over = status != 0 && isOver(); // before this completion counts
        if (!receive) {
            sendQueue.ring.release(sendQueue.complete(workRequestId));
        }
        if (status != 0) {
            if (!over && !closing.isPeerLeaving()) { // of a peer that leaves, the connection manager tells the end
                fail(StreamFailure.completion(workRequestId, status));
            }
        } else if (receive && !aborted) {
            int slot = WorkRequestId.index(workRequestId);
            boolean immediateData = sendQueue.immediateData;
            boolean whole = immediateData ? hasImmediate : receiveQueue.isMessage(lengthBytes, flow.kind());
            heard = true;
            int message = immediateData ? immediate : receiveQueue.message(slot);
            if (!whole) {
                failIf("sent " + lengthBytes + " bytes that are no message");
            } else if (early != null) {
                early.add(new EarlyMessage(slot, message, lengthBytes));
            } else {
                String wrong = flow.arrived(slot, message, lengthBytes);
                if (wrong != null) {
                    failIf(wrong);
                }
            }
        } else if (!aborted && kind == WorkRequestId.POSITION) {
            failIf(flow.learned());
        }
        sendControls();
    }

    /** A receive is free again: it is posted, now or with the next ones. */
    void repost(int slot) {
        if (failure == null && !aborted && !closing.isPeerDisconnected()) {
            int error = receiveQueue.repost(slot);
            if (error != QueuePair.POSTED) {
                failUnlessPosted("ibv_post_recv", error);
            }
        }
    }

    /** Fails if a call of verbs returned an error. */
    void failUnlessPosted(String call, int error) {
        if (MessageSender.isError(error)) {
            fail(StreamFailure.post(call, error));
        }
    }

    private void failIf(String wrong) {
        if (wrong != null) {
            fail(StreamFailure.violation(wrong));
        }
    }

    /** The connection manager says that the peer is gone. Data that arrived before may be delivered after this. */
    public void onDisconnected() {
        if (!isOver() && !closing.isPeerLeaving()) {
            fail(StreamFailure.reset("the connection manager reported a disconnect that the peer had not announced"));
        }
        closing.peerIsGone();
        owed = isControlDue();
    }

    /** Ends the connection; from outside for such as a deadline. The first cause counts, unless a later says more. */
    public void fail(StreamFailure cause) {
        if (!aborted && (failure == null || cause.outranks(failure))) {
            failure = cause;
            owed = false;
        }
    }

    /** True when errors are to be expected: the peer has left, or all that it needs was said and confirmed. */
    private boolean isOver() {
        return aborted || closing.isPeerDisconnected() || closing.isFinished() && sendQueue.outstanding() == 0;
    }

    private boolean isSilent() {
        return failure != null || aborted || listening && !heard || !started;
    }

    private boolean isControlDue() {
        return !isSilent() && (flow.isAnswerDue() || closing.due() != ShutdownState.NOTHING || flow.isNewsDue());
    }

    /**
     * Posts what is due to the peer, as far as slots allow; after anything by which something may have become due, such
     * as memory that was supplied.
     */
    public void sendControls() {
        owed = isControlDue();
        while (owed && flow.mayPost()) {
            // Order matters: the receives first, then the credits for them.
            failUnlessPosted("ibv_post_recv", receiveQueue.postFree());
            failUnlessPosted("ibv_post_send", flow.post());
            owed = isControlDue();
        }
    }

    /**
     * Reads what is there: 0 if nothing is there now, -1 at the end of the stream. Throws "Connection reset", or what
     * the peer did wrong, once all that arrived before was read.
     */
    public int read(byte[] bytes, int offset, int length) throws SocketException {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        ensureTrusted();
        if (length == 0 || aborted) {
            return aborted ? -1 : 0;
        }
        int count = received.read(bytes, offset, length);
        if (count == 0) {
            return whyNothing();
        }
        readBytes += count;
        if (flow.isFreed()) {
            sendControls();
        }
        return count;
    }

    /**
     * Lends the reader what is there, where it is, up to the end of a chunk, until {@link #endView}: 0 bytes if nothing
     * is there now, -1 at the end of the stream. Nothing else is read meanwhile, and the chunk is neither lent to the
     * peer again nor retired. A peer that breaks the protocol may change the bytes all the same, at any time: it has a
     * key for them.
     */
    public int view() throws SocketException {
        ensureTrusted();
        if (aborted) {
            return -1;
        }
        int count = received.view();
        readBytes += count;
        return count > 0 ? count : whyNothing();
    }

    /** Where the bytes of a view are: a region that must not be closed before {@link #endView}. */
    public MemoryRegion viewedRegion() {
        return received.viewedRegion();
    }

    /** Where they begin: bytes from the beginning of {@link #viewedRegion()}. */
    public long viewedOffset() {
        return received.viewedOffset();
    }

    /** The bytes of a view were read, and the peer may use their place again. */
    public void endView() {
        received.endView();
        sendControls();
    }

    /** After a violation, nothing is read. */
    private void ensureTrusted() throws SocketException {
        if (failure != null && failure.violation()) {
            throw failure.exception();
        }
    }

    /** The end of the stream, a failure, or that nothing has come yet. */
    private int whyNothing() throws SocketException {
        if (closing.isInputEnded() || closing.isInputShut()) {
            return -1;
        }
        if (failure != null) {
            throw failure.exception();
        }
        return 0;
    }

    /**
     * Copies and posts as many bytes as there is room for now, perhaps none, and tells how many; the next call goes on
     * with the rest. Throws "Connection reset", or what the peer did wrong; "Broken pipe" if this direction is over,
     * except in the first write after the peer's close.
     */
    public int write(byte[] bytes, int offset, int length) throws SocketException {
        Objects.checkFromIndexSize(offset, length, bytes.length);
        if (closing.isPeerDisconnected() && length > 0 && losesWrite(length)) {
            return length;
        }
        SendBuffer ring = sendQueue.ring;
        int taken = 0;
        while (taken < length && canPlace() && ring.hasRoom()) {
            int count = Math.min(Math.min(length - taken, sendQueue.settings.maxWriteBytes()),
                    Math.min(flow.room(), ring.free()));
            if (count <= 0) {
                break;
            }
            ring.place(bytes, offset + taken, count, flow.begin());
            finish(count, sendQueue.isInline(count) ? 0 : ring.keep(count));
            taken += count;
        }
        writtenBytes += taken;
        if (taken < length) {
            if (!ring.hasRoom()) {
                ring.wantMore();
            }
            awaitRoom();
        }
        ensureOutput();
        return taken;
    }

    /**
     * Tells whether a write succeeds although the peer has closed, so that its bytes are lost. As over TCP the first
     * does, if the bytes that it has still to write would fit into a send buffer.
     */
    boolean losesWrite(int length) {
        return length <= settings().sendBufferBytes() && failure == null && !aborted && closing.loseWrite();
    }

    /** Notes that a writer that has more waits for room at the peer, if so. */
    void awaitRoom() {
        if (!isSilent() && flow.room() == 0) {
            flow.awaitRoom();
            sendControls();
        }
    }

    /** Says why nothing can be written any more, if so; from then on, no write succeeds. */
    void ensureOutput() throws SocketException {
        if (failure != null) {
            throw failure.exception();
        }
        if (aborted || closing.isOutputOver()) {
            closing.refuseWrites();
            throw new SocketException(StreamFailure.BROKEN_PIPE);
        }
    }

    /** So many bytes were written without a copy. */
    void wrote(int count) {
        writtenBytes += count;
    }

    /** Bytes that were read so far; without the lock, a number that was right before. */
    public long readBytes() {
        return readBytes;
    }

    /** Bytes that were written so far. Likewise. */
    public long writtenBytes() {
        return writtenBytes;
    }

    /** The sender from memory of the application; made by the first call. */
    public DirectSender directSender() {
        if (directSender == null) {
            directSender = new DirectSender(this);
        }
        return directSender;
    }

    /** Posts data whose request has its payload, and of which so much is kept in the send ring. */
    void finish(int count, int kept) {
        int result = flow.finish(count, kept);
        if (result != QueuePair.POSTED) {
            failUnlessPosted("ibv_post_send", result);
        }
    }

    /** The flow that the ends have agreed on, until then the one that this end would like. */
    Flow carrier() {
        return flow;
    }

    /** Whether data can be posted now, if it needs no room in the send ring. */
    boolean canSend() {
        return canPlace() && flow.room() > 0;
    }

    /** Whether data can be posted, apart from the room at the peer: a slot is free, and this direction is open. */
    boolean canPlace() {
        return !isSilent() && !closing.isOutputOver() && sendQueue.hasDataSlot();
    }

    private boolean isOutputOver() {
        return aborted || closing.isOutputOver();
    }

    /** Whether {@link #read} of at least one byte would read, tell the end or throw. */
    public boolean readable() {
        return received.available() > 0 || closing.isInputEnded() || closing.isInputShut() || failure != null
                || aborted;
    }

    /** Whether {@link #write} would do something; if {@link #directSender} is not done, whether that can go on. */
    public boolean writable() {
        if (isAwaited()) {
            return directSender.isRead() || failure != null || aborted;
        }
        boolean able = directSender != null && directSender.isUnfinished() ? directSender.canGoOn()
                : canSend() && sendQueue.ring.hasRoom();
        return able || failure != null || isOutputOver();
    }

    /** How much can be read now: bytes, 0 after a violation. */
    public int available() {
        return aborted || failure != null && failure.violation() ? 0 : received.available();
    }

    /** Whether news of room or of an end waits for a free slot: then a send completion matters also to a reader. */
    public boolean creditOwed() {
        return owed;
    }

    /** Reads no more: what is there and what comes is thrown away, so that the peer is not held up. */
    public void shutdownInput() {
        closing.shutInput();
        if (!aborted) {
            received.discard();
            sendControls();
        }
    }

    /** Writes no more: the peer is told after everything that was written. */
    public void shutdownOutput() {
        closing.shutOutput();
        sendControls();
    }

    /** This process ends soon: the peer is told after everything that was written, and may still be written to. */
    public void leave() {
        closing.leave();
        sendControls();
    }

    /** Reads and writes no more: the peer is told after everything that was written. See {@link #drained}. */
    public void disconnect() {
        closing.close(received.isUnread());
        shutdownInput();
    }

    /** {@return the memory that comes and goes; always the same} */
    public StreamMemory memory() {
        return memory;
    }

    /** Whether {@link #shrink} may be of use: this end has more than it began with, or the peer waits for it. */
    public boolean isLarge() {
        return memory.bytes() > 0 || flow.isLarge();
    }

    /** Goes back to little memory, as far as the peer allows; after a pause. */
    public void shrink() {
        sendQueue.ring.shrink();
        flow.shrink();
        sendControls();
    }

    /** Stops: nothing more is posted or touched. The peer learns of it when the owner ends the queue pair. */
    public void abort() {
        aborted = true;
        owed = false;
    }

    /**
     * Asks the peer's device for a sign of life, unless such a question or too much else is under way, or all is said.
     * Over iWARP the last words may lie with the peer unseen until something comes behind them. So, if the peer was
     * never heard, this asks although all is said.
     */
    public void keepalive() {
        boolean over = closing.isFinished() && (heard || settings().immediateData());
        if (isSilent() || over || sendQueue.hasKeepalive() || !sendQueue.hasControlSlot(false)) {
            return;
        }
        failUnlessPosted("ibv_post_send", sendQueue.postKeepalive());
    }

    /** Asks the peer's device for a sign of life, as {@link #keepalive}; throws if nothing can be written any more. */
    public void probe() throws SocketException {
        if (!losesWrite(1)) {
            ensureOutput();
            keepalive();
        }
    }

    /**
     * Has the device show that the last writes have completed, if no request that was posted will: until then a part of
     * the send ring may seem in use. For when that matters, such as after a pause. True if this call asked the device.
     */
    public boolean confirm() {
        if (!sendQueue.isUnsignalled()) {
            return false;
        }
        keepalive();
        return !sendQueue.isUnsignalled();
    }

    /** Whether the queue pair may go: what was written and the last word about it have completed, or never will. */
    public boolean drained() {
        return failure != null || isOver()
                || closing.isOutputShut() && closing.due() == ShutdownState.NOTHING && sendQueue.outstanding() == 0;
    }

    /** Whether the peer has said DISCONNECT: its queue pair is gone, or will be at once. */
    public boolean peerDisconnected() {
        return closing.isPeerDisconnected();
    }

    /** Whether the connection is over, or the peer has said DISCONNECT. */
    public boolean isEnding() {
        return failure != null || closing.isPeerDisconnected();
    }

    /** Whether a writer waits until the device has read memory of the application. */
    public boolean isAwaited() {
        return directSender != null && directSender.isAwaited();
    }

    /** {@return why the connection broke, or null if it did not} */
    public StreamFailure failure() {
        return failure;
    }

    /** How many send requests are outstanding, as far as was shown; a deadline applies to the oldest. */
    public int outstandingSends() {
        return sendQueue.outstanding();
    }

    /** How many bytes have been taken in and not read. This and the next two may be asked without the lock. */
    public int unreadBytes() {
        return received.unread;
    }

    /** How many bytes the peer has room for in the next message: 0 if a writer would wait, or before the start. */
    public int window() {
        return started ? flow.room() : 0;
    }

    /** The open directions, for people: {@code open} if both are. */
    public String state() {
        if (failure != null) {
            return "failed: " + failure.detail();
        }
        if (closing.isPeerDisconnected()) {
            return "peer closed";
        }
        boolean ended = closing.isInputEnded();
        return closing.isOutputShut() ? ended ? "both ends shut" : "shut here" : ended ? "peer shut" : "open";
    }

    /** The counters and flags, for a log line. */
    @Override
    public String toString() {
        return "outstanding=" + sendQueue.outstanding() + " " + flow + " " + closing
                + (failure == null ? "" : " failure=" + failure.detail());
    }
}
