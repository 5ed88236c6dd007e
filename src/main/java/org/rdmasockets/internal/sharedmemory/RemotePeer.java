package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.sharedmemory.link.LinkSlot;
import org.rdmasockets.internal.sharedmemory.link.PeerMemory;
import org.rdmasockets.internal.sharedmemory.link.PeerSlice;
import org.rdmasockets.internal.sharedmemory.link.ReachableMemory;
import org.rdmasockets.internal.sharedmemory.link.RingEntry;
import org.rdmasockets.internal.sharedmemory.link.RingWriter;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.VerbsException;

/**
 * The other end of a connection is in another process: its queue pair and its identifier, as entries of a link.
 *
 * <p>Each side says {@link LinkDispatcher#END} exactly once, as its last entry for the connection; the slot is given
 * back when both have, so that an entry never finds another connection than its own.
 *
 * <p>The regions of the other side that it looked up last are found without asking the link; they are guarded by the
 * send queue.
 */
final class RemotePeer implements Peer, ConnectionPeer {
    /** How long a retry waits for a receive of the other side, in nanoseconds: the connection manager's default. */
    private static final long NOT_READY_NANOS = 655_360_000;
    /** A connection that sends no more is no reason to map a page of the other side's memory. */
    private static final int MOST_INLINE_BYTES = 2 << 10;
    /** Most regions that are remembered: a stream writes to three in turn, the peer's table and two chunks. */
    private static final int MOST_REGIONS = 4;

    final LinkDispatcher end;
    private final RingWriter writer;
    final LinkSlot slot;
    /** The other side's slot, -1 until it is known. */
    volatile int peerSlot;
    /** Whether the other side's queue pair takes requests; set to false under the writer's lock. */
    private volatile boolean alive;
    /** The kind of the entry that could not be taken in, so that the connection has to end; 0 if there is none. */
    private volatile byte lostKind; // written under this
    /** Whether an entry was ever lost: this connection then takes none of the later ones. */
    volatile boolean spoiled;
    /** Whether the other side was told of our slot, or is about to be; by then the identifier is set. */
    volatile boolean slotTold;
    /** Whether the last entry was sent; guarded by the writer's lock. */
    boolean silent;
    /** The identifier of this end; null until there is one. */
    volatile SharedMemoryIdentifier identifier;
    /** Our queue pair; null until there is one. Written under this monitor. */
    private volatile SharedMemoryQueuePair queuePair;
    /** Guarded by this, as are the next two. */
    private boolean endSent;
    volatile boolean endReceived;
    private boolean released;
    /** How many of the queue pair's completion queues know the link; written under this, before {@link #release}. */
    private byte attachedQueues;
    /** The number of the other side's protection domain; set before the connection is up. */
    private volatile long peerDomain;
    /** How many of the other side's receives were used, wrapping around; guarded by the send queue. */
    private int consumed;
    /** How many there were when we looked last, wrapping around; guarded by the send queue. */
    private int posted;
    /** How many were asked for, where they come on request, wrapping around; guarded by the send queue. */
    private int requested;
    /** The ring position of the last message if writes may join it, else -1; guarded by the send queue, as the next. */
    private long openPosition = -1;
    /** Its length and, in the upper half, its immediate data. */
    private long openMessage;
    /** Whether the writer is locked for a request that is not told yet; guarded by the send queue. */
    private boolean locked;
    /** The region that was used last, and others before it if there are any, else null. */
    private PeerMemory recent;
    private PeerMemory[] others;
    private byte oldest;
    /** Whether the recent one stays entered, so that the next request need not enter it. */
    private boolean inside;
    /** Sends that arrive; null before the first. */
    private IncomingSends sends;

    /** A connection that has a slot; the other side's is -1 if it is not known yet. */
    RemotePeer(LinkDispatcher end, LinkSlot slot, int peerSlot) {
        this.end = end;
        writer = end.link.writer();
        this.slot = slot;
        this.peerSlot = peerSlot;
    }

    /** Takes the other side's slot and domain from its message; false if that slot cannot exist. */
    boolean greet(ConnectMessage greeting) {
        peerDomain = greeting.domain();
        return slot.connect(peerSlot);
    }

    /**
     * Lets the other side see the receives and regions of our queue pair. False if the connection is over already;
     * throws if the link takes no more regions.
     */
    synchronized boolean attach(SharedMemoryQueuePair own) throws VerbsException {
        if (released) {
            return false;
        }
        own.domain.share(end);
        queuePair = own;
        own.receiveQueue.attach(slot);
        end.attach(own.sendCompletions());
        attachedQueues++;
        end.attach(own.receiveCompletions());
        attachedQueues++;
        return true;
    }

    // The peer, as the send queue sees it.

    @Override
    public boolean isAlive() {
        // A link that fails loses its memory first, and tells this a moment later.
        return alive && end.link.isOpen();
    }

    /** Says that the last entry for the other side is about to be sent; under the writer's lock. */
    void silence() {
        silent = true;
        alive = false;
    }

    @Override
    public ReachableMemory memory(int key, long address, long bytes, AccessFlag needed) {
        boolean again = recent != null && recent.remoteKey() == key
                && (inside ? ((PeerSlice) recent).isOpen() : recent.tryEnter());
        if (!again && !enterOther(key, address)) {
            return null;
        }
        inside = recent instanceof PeerSlice;
        if (!recent.allows(address, bytes, needed)) {
            leave(recent);
            return null;
        }
        return recent;
    }

    /** Enters a region that becomes the recent one; false if there is none of that key. */
    private boolean enterOther(int key, long address) {
        leaveAll();
        for (int i = 0; others != null && i < others.length; i++) {
            PeerMemory found = others[i];
            if (found != null && found.remoteKey() == key && found.tryEnter()) {
                others[i] = recent; // the next request is mostly for the same region
                recent = found;
                return true;
            }
        }
        PeerMemory region = end.link.peerMemory(key, address);
        if (region == null || region.tag() != peerDomain || !region.tryEnter()) {
            return false;
        }
        if (recent != null) {
            others = others == null ? new PeerMemory[MOST_REGIONS - 1] : others;
            others[oldest] = recent;
            oldest = (byte) ((oldest + 1) % others.length);
        }
        recent = region;
        return true;
    }

    /** A slice stays entered until {@link #leaveAll}. */
    @Override
    public void leave(ReachableMemory region) {
        if (locked) {
            endWrite();
        }
        if (region != recent || !inside) {
            region.leave();
        }
    }

    @Override
    public void leaveAll() {
        if (inside) {
            inside = false;
            recent.leave();
        }
    }

    @Override
    public int mostInlineBytes() {
        return MOST_INLINE_BYTES;
    }

    /**
     * Locks the writer. An atomic instruction between the bytes and the entry would wait until this processor has the
     * bytes' memory. The slot is open while the other side is alive: its close waits for the send queue.
     */
    @Override
    public void beginWrite() {
        if (!locked) {
            writer.lockMapped();
            locked = true;
        }
    }

    private void endWrite() {
        locked = false;
        writer.unlock();
    }

    @Override
    public int tell(PendingSend notice, int messages) {
        try {
            if (!alive) {
                return Status.RETRY_EXCEEDED;
            }
            if (notice.joining && notice.inlineTarget == null && openPosition >= 0 && joinLast(notice)) {
                return Status.SUCCESS;
            }
            if (posted - consumed <= 0 && notice.sentBytes == 0 && !findsReceive()) {
                end.resumeLater(queuePair.sendQueue);
                slot.starve();
                if (!findsReceive()) {
                    askForReceives(messages);
                    return Status.NOT_READY;
                }
            }
            int status = publish(notice);
            if (status == Status.NO_ROOM) {
                end.resumeLater(queuePair.sendQueue);
                status = publish(notice);
            }
            if (status == Status.SUCCESS) {
                consumed++;
            }
            writer.notifyPeerMapped();
            return status;
        } finally {
            if (locked) {
                endWrite();
            }
        }
    }

    /** Looks whether the other side has a receive. Not for each message: that moves a cache line between the sides. */
    private boolean findsReceive() {
        posted = slot.peerReceivesPosted();
        return posted - consumed > 0;
    }

    /** Adds a write to the last message, if the other side has not taken that yet; then it needs no receive. */
    private boolean joinLast(PendingSend notice) {
        beginWrite();
        try {
            if ((int) openMessage + (long) notice.lengthBytes > SharedMemoryDevice.MAX_MESSAGE_BYTES) {
                return false;
            }
            long both = message((int) openMessage + notice.lengthBytes, notice.joinedImmediate);
            if (!alive || !writer.replaceFirst(openPosition, openMessage, both)) {
                openPosition = -1;
                return false;
            }
            openMessage = both;
            notice.joined = true;
            return true;
        } finally {
            endWrite();
        }
    }

    private static long message(int lengthBytes, int immediate) {
        return lengthBytes & 0xFFFF_FFFFL | (long) immediate << 32;
    }

    /** Lets a peer whose receives are shared post some for the messages that wait here. */
    private void askForReceives(int messages) {
        int missing = Math.min(messages, ReceiveQueue.MOST_WANTED) - (requested - consumed);
        if (missing <= 0 || !slot.isPeerOnRequest()) {
            return;
        }
        beginWrite();
        try {
            if (alive && !end.held && writer.begin(0)) {
                writer.header(LinkDispatcher.WANT, 0, peerSlot, missing, 0);
                writer.publish();
                requested += missing;
            }
        } finally {
            endWrite();
        }
        writer.notifyPeerMapped();
    }

    private int publish(PendingSend notice) {
        beginWrite();
        try {
            if (!alive) {
                return Status.RETRY_EXCEEDED;
            }
            if (end.held) {
                return Status.NO_ROOM;
            }
            openPosition = -1;
            return notice.send ? publishSend(notice) : publishWrite(notice);
        } finally {
            endWrite();
        }
    }

    private int publishWrite(PendingSend notice) {
        if (notice.inlineTarget != null && !writer.isHalfEmpty()) {
            notice.write(); // the ring of a peer that pauses has room for many messages, but not with their bytes
        }
        boolean inline = notice.inlineTarget != null;
        if (!writer.begin(inline ? notice.lengthBytes : 0)) {
            return Status.NO_ROOM;
        }
        if (inline) {
            writer.header(LinkDispatcher.INLINE_WRITE, LinkDispatcher.IMMEDIATE, peerSlot, notice.immediate,
                    notice.remoteAddress());
            writer.second(notice.remoteKey());
            notice.copyPayload(0, writer.memory(), writer.payloadOffset(), notice.lengthBytes);
        } else if (notice.open) {
            openPosition = writer.position();
            openMessage = message(notice.lengthBytes, notice.immediate);
            writer.header(LinkDispatcher.OPEN_WRITE, LinkDispatcher.IMMEDIATE, peerSlot, 0, openMessage);
        } else {
            writer.header(LinkDispatcher.WRITE, LinkDispatcher.IMMEDIATE, peerSlot, notice.immediate,
                    notice.lengthBytes);
        }
        writer.publish();
        return Status.SUCCESS;
    }

    /** Publishes the parts of a send that are not published yet, as far as there is room. */
    private int publishSend(PendingSend notice) {
        int total = notice.lengthBytes;
        int sent = notice.sentBytes;
        do {
            int part = Math.min(total - sent, RingWriter.MAX_PAYLOAD_BYTES);
            if (!writer.begin(part)) {
                return Status.NO_ROOM;
            }
            int flags = (sent == 0 ? LinkDispatcher.FIRST : 0) | (sent + part == total ? LinkDispatcher.LAST : 0)
                    | (notice.hasImmediate ? LinkDispatcher.IMMEDIATE : 0);
            writer.header(LinkDispatcher.SEND, flags, peerSlot, notice.immediate, total);
            notice.copyPayload(sent, writer.memory(), writer.payloadOffset(), part);
            writer.publish();
            sent += part;
            notice.sentBytes = sent;
        } while (sent < total);
        return Status.SUCCESS;
    }

    @Override
    public void catchUp() {
        end.catchUp();
    }

    @Override
    public void fail() {
        tellFailed(LinkDispatcher.FAULT);
    }

    @Override
    public void ownFailed() {
        tellFailed(0);
    }

    private void tellFailed(int flags) {
        if (peerSlot >= 0) {
            end.send(this, LinkDispatcher.FAILED, flags, 0, NO_DATA);
        }
    }

    @Override
    public long receiverNotReadyNanos() {
        return NOT_READY_NANOS;
    }

    // The partner, as the identifier sees it.

    @Override
    public boolean join(SharedMemoryQueuePair own, ConnectionParameters request, ConnectionParameters answer)
            throws VerbsException {
        boolean attached = false;
        try {
            attached = attach(own);
        } finally {
            if (!attached) {
                rejected(SharedMemoryIdentifier.CONSUMER_REJECTED, NO_DATA);
            }
        }
        synchronized (this) {
            if (!attached || endSent || endReceived) {
                return false;
            }
            alive = true;
        }
        own.connect(this, request.receiverNotReadyRetryCount());
        return true;
    }

    @Override
    public boolean accepted(SharedMemoryQueuePair own, ConnectionParameters answer) {
        ConnectMessage greeting = new ConnectMessage(own.domain.number, answer, identifier.localAddress(),
                identifier.remoteAddress());
        slotTold = true;
        return end.send(this, LinkDispatcher.ACCEPT, 0, slot.index(), greeting.encode()) && end.isOpen();
    }

    @Override
    public void acknowledged() {
        end.send(this, LinkDispatcher.ACKNOWLEDGE, 0, 0, NO_DATA);
    }

    @Override
    public boolean isStopped() {
        return end.link.isPeerStopped();
    }

    /** Refuses the other side's request; nothing follows. */
    @Override
    public void rejected(int status, byte[] privateData) {
        synchronized (this) {
            if (endSent || endReceived) {
                return;
            }
            endSent = true;
        }
        sendLast(LinkDispatcher.REJECT, status, privateData);
        release();
    }

    /** Sends the last entry. If that fails, perhaps for lack of memory, it can be sent later. */
    private void sendLast(int kind, int value, byte[] payload) {
        try {
            end.send(this, kind, 0, value, payload);
        } catch (Throwable e) {
            takeBackEnd();
            throw e;
        }
    }

    private synchronized void takeBackEnd() {
        endSent = released;
    }

    @Override
    public void disconnected() {
        boolean both;
        synchronized (this) {
            if (endSent) {
                return;
            }
            endSent = true;
            both = endReceived;
        }
        sendLast(LinkDispatcher.END, slot.index(), NO_DATA);
        if (both) {
            release();
        }
    }

    @Override
    public boolean leaveLater(boolean requested, Error cause) {
        end.endLater(this, requested ? LinkDispatcher.CONNECT : LinkDispatcher.FAILED, cause);
        return true;
    }

    // Entries of the other side, in the order of the ring.

    /** Our request was accepted. */
    void onAccept(RingEntry entry) {
        ConnectMessage greeting = ConnectMessage.decode(entry);
        if (peerSlot >= 0) {
            throw new IllegalArgumentException("a request is accepted twice");
        }
        peerSlot = entry.value();
        if (peerSlot < 0 || !greet(greeting)) {
            throw new IllegalArgumentException("slot " + entry.value() + " does not exist");
        }
        synchronized (this) {
            alive = !endSent;
        }
        identifier.accepted(this, greeting.parameters());
    }

    /** Our request was refused; nothing follows. */
    void onReject(RingEntry entry) {
        byte[] data = ConnectMessage.data(entry);
        if (peerSlot >= 0) {
            throw new IllegalArgumentException("a request is refused after it was answered");
        }
        synchronized (this) {
            endSent = true;
        }
        identifier.rejected(entry.value(), data);
        release();
    }

    /** The other side's last entry has come. */
    void onEnd() {
        boolean answer;
        synchronized (this) {
            endReceived = true;
            answer = !endSent;
            endSent = true;
        }
        if (answer) {
            sendLast(LinkDispatcher.END, slot.index(), NO_DATA);
        }
        left();
        release();
    }

    /** Lets our end know that the other one has gone. */
    private void left() {
        SharedMemoryIdentifier mine = identifier;
        if (mine != null) {
            mine.partnerLost();
        }
        resume();
    }

    private void resume() {
        SharedMemoryQueuePair own = queuePair;
        if (own != null) {
            own.sendQueue.resume();
        }
    }

    /** The other side's queue pair takes nothing more. */
    void onFailed(boolean fault) {
        alive = false;
        SharedMemoryQueuePair own = queuePair;
        if (fault && own != null) {
            own.fail();
        }
        if (own != null) {
            own.peerLeft();
        }
        resume();
    }

    /** The link is dead: nothing comes or goes any more. */
    void linkDied() {
        synchronized (this) {
            endSent = true;
            endReceived = true;
        }
        alive = false;
        left();
        release();
    }

    /** Messages wait at the other side for receives of ours, which are shared. */
    void onWant(int messages) {
        ReceiveQueue receives = receives();
        if (receives != null && !receives.want(messages)) {
            throw new IllegalArgumentException("receives for " + messages + " messages are asked for, which is too many"
                    + " or needs a shared receive queue");
        }
    }

    /** A write with immediate data was made. */
    void onWrite(RingEntry entry) {
        written(checkedLength(entry.first()), entry.value());
    }

    /** One or more writes with immediate data were made. */
    void onOpenWrite(RingEntry entry) {
        long message = entry.takeFirst();
        written(checkedLength((int) message), (int) (message >>> 32));
    }

    /**
     * Makes a write with immediate data of bytes that came along; the other side could have made it itself. May come
     * before this end has read that it is accepted: the end that accepts is connected before it says so.
     */
    void onInlineWrite(RingEntry entry) {
        SharedMemoryQueuePair own = queuePair;
        if (own == null || own.state() == QueuePairState.ERROR) {
            return; // the write's target may serve something else by now
        }
        int bytes = entry.payloadBytes();
        long address = entry.first();
        SharedMemoryRegion region = own.domain.device().fabric.regions.find((int) entry.second());
        if (region != null && region.isAllocated()
                && region.tryEnter(own.domain, address, bytes, AccessFlag.REMOTE_WRITE)) {
            try {
                MemorySegment.copy(entry.memory(), entry.payloadOffset(), region.segment(), address - region.address(),
                        bytes);
            } finally {
                region.leave();
            }
            written(bytes, entry.value());
        } else if (own.state() != QueuePairState.ERROR) { // else its memory has gone with it just now
            faultOfOurs();
        }
    }

    private void written(int bytes, int immediate) {
        ReceiveQueue receives = receives();
        if (receives != null && receives.written(bytes, immediate) == Status.NOT_READY) {
            throw new IllegalArgumentException("a message came without a receive");
        }
    }

    /** A part of a send came. */
    void onSend(RingEntry entry) {
        if (sends == null) {
            sends = new IncomingSends(this);
        }
        sends.onPart(entry);
    }

    /** A length that a message can have. */
    static int checkedLength(long bytes) {
        if (bytes < 0 || bytes > SharedMemoryDevice.MAX_MESSAGE_BYTES) {
            throw new IllegalArgumentException("a message has no length of " + bytes);
        }
        return (int) bytes;
    }

    /** Our receives, null if there is no queue pair yet. */
    ReceiveQueue receives() {
        SharedMemoryQueuePair own = queuePair;
        return own == null ? null : own.receiveQueue;
    }

    /** A receive could not take the message: both queue pairs break, as on a network. */
    void faultOfOurs() {
        fail();
        queuePair.fail();
    }

    /** Notes that an entry cannot be taken in; {@link #breakUp} has to follow. Takes no memory. */
    synchronized void spoil(int kind) {
        lostKind = (byte) kind;
        spoiled = true;
    }

    /** The last entry has come: false if {@link #breakUp} has ended already, so that it does not handle this. */
    synchronized boolean spoilLast(int kind) {
        boolean toCome = lostKind != 0;
        lostKind = toCome ? (byte) kind : 0;
        return toCome;
    }

    /** Ends the connection if an entry of it was lost. Can be tried again after an {@code Error}. */
    void breakUp() {
        byte kind = lostKind;
        switch (kind) {
            case 0 -> {
                return;
            }
            case LinkDispatcher.CONNECT -> rejected(SharedMemoryIdentifier.NOBODY_LISTENS, NO_DATA);
            case LinkDispatcher.END -> onEnd();
            case LinkDispatcher.REJECT, LinkDispatcher.LINK_DIED -> linkDied(); // nothing follows
            default -> faultHere();
        }
        synchronized (this) {
            lostKind = lostKind == kind ? 0 : lostKind; // the last entry may have come meanwhile
        }
    }

    /** An entry could not be taken in: both queue pairs break, if there are two yet. */
    private void faultHere() {
        fail();
        SharedMemoryQueuePair own = queuePair;
        if (own != null) {
            own.fail();
        }
        left();
        disconnected(); // the other side may have heard of nothing yet
    }

    /** Detaches the completion queues; after an {@code Error} not all were attached. */
    private void detach(SharedMemoryQueuePair own) {
        try {
            if (attachedQueues > 0) {
                end.detach(own.sendCompletions());
            }
        } finally {
            if (attachedQueues > 1) {
                end.detach(own.receiveCompletions());
            }
        }
    }

    /** Gives the slot back, once. */
    void release() {
        SharedMemoryQueuePair own;
        synchronized (this) {
            if (released) {
                return;
            }
            released = true;
            endSent = true; // the slot may soon be another's
            alive = false; // no thread touches the other side's memory after the slot is closed
            own = queuePair;
        }
        end.forget(this);
        if (own == null) {
            slot.close();
            return;
        }
        synchronized (own.sendQueue) {
            leaveAll(); // the slot keeps it mapped
        }
        own.releaseSlot(slot);
        try {
            own.peerLeft();
        } finally {
            detach(own);
        }
    }

    /**
     * The sends that come for one connection from another process, each in one or more parts, in the order of the ring.
     */
    private static final class IncomingSends {
        private final RemotePeer peer;
        /** How many bytes of a send are still to come, -1 when none has begun. */
        private int expected = -1;
        /** Length and acceptance of the send that comes. */
        private int length;
        private boolean filling;

        IncomingSends(RemotePeer peer) {
            this.peer = peer;
        }

        /** A part of a send came. */
        void onPart(RingEntry entry) {
            if ((entry.flags() & LinkDispatcher.FIRST) != 0) {
                begin(entry);
            }
            int part = entry.payloadBytes();
            if (expected < part) {
                throw new IllegalArgumentException("a send is longer than it said");
            }
            expected -= part;
            boolean last = (entry.flags() & LinkDispatcher.LAST) != 0;
            if (last != (expected == 0)) {
                throw new IllegalArgumentException("a send has another length than it said");
            }
            ReceiveQueue receives = peer.receives();
            if (filling && receives != null && part > 0 && !receives.put(entry.memory(), entry.payloadOffset(), part)) {
                filling = false;
                peer.faultOfOurs();
            }
            if (last && filling && receives != null) {
                receives.finish(true, length, (entry.flags() & LinkDispatcher.IMMEDIATE) != 0, entry.value());
            }
            if (last) {
                expected = -1;
            }
        }

        private void begin(RingEntry entry) {
            if (expected != -1) {
                throw new IllegalArgumentException("a send begins within a send");
            }
            length = RemotePeer.checkedLength(entry.first());
            expected = length;
            ReceiveQueue receives = peer.receives();
            int status = receives == null ? Status.RETRY_EXCEEDED : receives.begin(length);
            if (status == Status.NOT_READY) {
                throw new IllegalArgumentException("a message came without a receive");
            }
            filling = status == Status.SUCCESS;
            if (Status.breaksPeer(status)) {
                peer.faultOfOurs();
            }
        }
    }
}
