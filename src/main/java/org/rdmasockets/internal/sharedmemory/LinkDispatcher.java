package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.sharedmemory.link.Link;
import org.rdmasockets.internal.sharedmemory.link.LinkHandler;
import org.rdmasockets.internal.sharedmemory.link.LinkSlot;
import org.rdmasockets.internal.sharedmemory.link.RingEntry;
import org.rdmasockets.internal.sharedmemory.link.RingWriter;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.VerbsException;

/**
 * This process's end of a link: finds the connection that an entry is for, and resumes requests that had to wait.
 *
 * <p>Every entry is hostile until it was checked. One that an honest peer never writes ends the link, and with it the
 * connections to that one process.
 */
final class LinkDispatcher implements LinkHandler {
    /** Kinds of entries. A request for a connection: value is the sender's slot, the payload a greeting. */
    static final int CONNECT = 1;
    /** A request is accepted: value is the sender's slot, the payload a greeting. */
    static final int ACCEPT = 2;
    /** A request is refused: value is the reason code, the payload private data. */
    static final int REJECT = 3;
    /** The last entry for a connection: value is the sender's slot, the slot -1 if the sender does not know it. */
    static final int END = 4;
    /** The sender's queue pair takes nothing more; with {@link #FAULT}, because of what the receiver asked for. */
    static final int FAILED = 5;
    /** A part of a send: first is the length of all parts, value the immediate data. */
    static final int SEND = 6;
    /** A write with immediate data was made: first is its length, value the immediate data. */
    static final int WRITE = 7;
    /** The sender has messages and the receiver's queue pair shares its receives: value is how many messages. */
    static final int WANT = 8;

    /** A write with immediate data that is still open: first is its length, in the upper half the immediate data. */
    static final int OPEN_WRITE = 9;
    /** A request has arrived and will be answered later. */
    static final int ACKNOWLEDGE = 10;
    /** No entry: the kind that every connection of a dead link is told. */
    static final int LINK_DIED = -1;

    /**
     * A datagram, for no connection: flags say how long an address is, value has the destination's port and above it
     * the source's; the payload is destination, source and data. If first is not 0, the receiver answers with it in a
     * {@link #TAKEN} when the application has taken this one, or all before it if this is lost.
     */
    static final int DATAGRAM = 11;

    /**
     * A write with immediate data is to be made of the payload: first is its address, second its key, value the
     * immediate data.
     */
    static final int INLINE_WRITE = 12;

    /**
     * The application has taken datagrams: first is that of the last of them, value the port that it went to, the
     * payload the address.
     */
    static final int TAKEN = 13;

    /** Flags: the first part of a send, the last one, with immediate data. */
    static final int FIRST = 1;
    static final int LAST = 2;
    static final int IMMEDIATE = 4;
    /** Flag of {@link #FAILED}. */
    static final int FAULT = 1;

    private static final Log LOG = new Log(LinkDispatcher.class);
    private static final LimitedLog LIMITED = new LimitedLog(LOG);
    private static final int UNKNOWN_SLOT = -1;
    /** Entries taken at once, and most of them in one call of the waiting thread. */
    private static final int BATCH = 64;
    private static final int BATCHES = 64;
    private static final String FAULT_HERE = "a fault in this library; its log says which";
    /** Most entries that wait for room: a slot is not used again before the peer has read its last of these. */
    private static final int MOST_LETTERS = LinkSlot.MOST;

    /** An entry that waits for room; its connection's data must not overtake it. */
    private record Letter(int kind, int flags, int slot, int value, byte[] payload) {}

    private final SharedMemoryFabric fabric;
    final Link link;
    private final RingWriter writer;
    /** Slot to connection; elements are written under this monitor. */
    private volatile RemotePeer[] peers = new RemotePeer[16];
    /** Guarded by the writer's lock. */
    private final ArrayDeque<Letter> outbox = new ArrayDeque<>();
    /** Whether {@link #outbox} has any, so that data must not go ahead of them; written under the writer's lock. */
    volatile boolean held;
    /** Send queues that wait for a receive or for room. */
    private final Set<SendQueue> waiting = ConcurrentHashMap.newKeySet();
    /** Completion queues of connections and of ports for datagrams, and how many uses each has; guarded by itself. */
    private final Map<SharedMemoryCompletionQueue, int[]> queues = new HashMap<>();
    /** The keys of {@link #queues}, which each doorbell looks at: an iterator would be garbage. Written under it. */
    private volatile SharedMemoryCompletionQueue[] served = {};
    /**
     * Whether the peer was asked to ring and no doorbell was heard since: then there is no need to ask again. Set
     * before the peer is asked, cleared before a doorbell is answered; a new link is armed.
     */
    private volatile boolean armed = true;
    /** Whether {@link Links#drainBusy} will come to this. */
    private final AtomicBoolean postponed = new AtomicBoolean();
    /** The connection whose request or end is being taken in; guarded by the link's consumer lock. */
    private RemotePeer taking;
    /** Why connections still have to be ended; else null. */
    private volatile Object lost;
    /** Whether an entry of any connection was ever lost. */
    private volatile boolean spoiled;
    /** The addresses of the last datagram: the next one often has the same. For the thread that drains. */
    DatagramPorts.Addresses lastAddresses;
    /** The next postponed one, while this is postponed; for {@link Links}. */
    LinkDispatcher nextBusy;
    private volatile boolean closed;
    /** For all domains that know no other link; never changed. */
    final LinkDispatcher[] alone = {this};

    LinkDispatcher(SharedMemoryFabric fabric, Link link) {
        this.fabric = fabric;
        this.link = link;
        this.writer = link.writer();
    }

    /** Whether entries come and go. */
    boolean isOpen() {
        return !closed && link.isOpen();
    }

    /** Whether nothing more comes. */
    boolean hasEnded() {
        return closed;
    }

    // Requests of this process.

    /** Asks for a connection; throws if the link has no slot, or is dead. */
    void connect(SharedMemoryIdentifier identifier, ConnectionParameters parameters) throws VerbsException {
        SharedMemoryQueuePair own = identifier.queuePair();
        RemotePeer peer = register(UNKNOWN_SLOT);
        peer.identifier = identifier;
        if (!identifier.partner(peer)) {
            peer.release();
            return;
        }
        if (!attach(peer, own)) {
            return;
        }
        ConnectMessage greeting = new ConnectMessage(own.domain.number, parameters, identifier.remoteAddress(),
                identifier.localAddress());
        peer.slotTold = true;
        if (!send(peer, CONNECT, 0, peer.slot.index(), greeting.encode())) {
            peer.release();
        } else if (closed) {
            peer.linkDied();
        }
    }

    /** Lets a connection have its queue pair; false if the link died. Gives the slot back if that fails. */
    private static boolean attach(RemotePeer peer, SharedMemoryQueuePair own) throws VerbsException {
        boolean attached = false;
        try {
            attached = peer.attach(own);
            if (!attached) {
                peer.linkDied(); // once more: it may not have known its identifier
            }
        } finally {
            if (!attached) {
                peer.release();
            }
        }
        return attached;
    }

    private RemotePeer register(int peerSlot) throws VerbsException {
        LinkSlot slot = link.openSlot();
        try {
            RemotePeer peer = new RemotePeer(this, slot, peerSlot);
            synchronized (this) {
                if (slot.index() >= peers.length) {
                    peers = Arrays.copyOf(peers, Math.max(slot.index() + 1, 2 * peers.length));
                }
                peers[slot.index()] = peer;
            }
            return peer;
        } catch (Throwable e) {
            slot.close();
            throw e;
        }
    }

    /** Forgets a connection whose slot is about to be closed. */
    synchronized void forget(RemotePeer peer) {
        peers[peer.slot.index()] = null;
    }

    /** Lets a completion queue of a connection poll and arm this link. */
    void attach(SharedMemoryCompletionQueue queue) {
        synchronized (queues) {
            int[] uses = queues.get(queue);
            if (uses == null) {
                uses = new int[1];
                queues.put(queue, uses);
                attachFirst(queue);
            }
            uses[0]++;
        }
        if (queue.arrivals.isArmed()) {
            // It was armed before it had this link. The ring has nothing for it yet, as the peer does not know it, but
            // may have entries for others: so our flag stays as it is.
            link.arm();
        }
    }

    /** Attaches a queue, or changes nothing; the monitor of {@link #queues} is held. */
    private void attachFirst(SharedMemoryCompletionQueue queue) {
        try {
            SharedMemoryCompletionQueue[] more = queues.keySet().toArray(new SharedMemoryCompletionQueue[0]);
            queue.attach(this);
            served = more;
        } catch (Throwable e) {
            queues.remove(queue);
            throw e;
        }
    }

    /** Undoes one {@link #attach}. If there is no memory to forget the queue, the end of its next connection does. */
    void detach(SharedMemoryCompletionQueue queue) {
        synchronized (queues) {
            int[] uses = queues.get(queue);
            if (uses != null && --uses[0] <= 0) {
                queue.detach(this);
                queues.remove(queue);
                served = queues.keySet().toArray(new SharedMemoryCompletionQueue[0]);
            }
        }
    }

    /**
     * Puts an entry that is no data into the ring, or keeps it until there is room, and rings: the peer must hear of a
     * connection that begins or ends even if it has no armed queue. False, and nothing is sent, if the connection's
     * last entry was sent before.
     */
    boolean send(RemotePeer peer, int kind, int flags, int value, byte[] payload) {
        Letter letter = new Letter(kind, flags, peer.peerSlot, value, payload);
        writer.lock();
        try {
            if (peer.silent) {
                return false;
            }
            put(letter);
            if (kind == END || kind == REJECT) {
                peer.silence();
            }
        } finally {
            writer.unlock();
        }
        if (kind == FAILED) {
            writer.notifyPeer();
        } else if (kind != END || !peer.endReceived) { // else the peer does not wait for it
            ring();
        }
        return true;
    }

    /** Rings for a letter that was published: sent again, it would end the link. If that fails, a later try rings. */
    private void ring() {
        try {
            writer.ringPeer();
        } catch (Error e) {
            held = true;
            lookAgain();
        }
    }

    private void put(Letter letter) {
        if (outbox.size() >= MOST_LETTERS) {
            outbox.clear();
            held = false;
            link.fail("the other process makes requests and does not read the answers");
        }
        if (!link.isOpen()) {
            return;
        }
        if (!outbox.isEmpty() || !publish(letter)) {
            outbox.add(letter);
            held = true;
            try {
                held = !publishHeld();
            } catch (Error e) { // the letter is kept: sent again, it would end the link
                lookAgain();
            }
        }
    }

    /** Publishes what is kept, as far as there is room; true if nothing is left. */
    private boolean publishHeld() {
        while (!outbox.isEmpty()) {
            if (!publish(outbox.peek())) {
                return false;
            }
            outbox.poll();
        }
        return true;
    }

    private boolean publish(Letter letter) {
        byte[] payload = letter.payload();
        if (!writer.begin(payload.length)) {
            return false;
        }
        writer.header(letter.kind(), letter.flags(), letter.slot(), letter.value(), 0);
        MemorySegment.copy(payload, 0, writer.memory(), ValueLayout.JAVA_BYTE, writer.payloadOffset(), payload.length);
        writer.publish();
        return true;
    }

    /**
     * Sends a datagram of at most {@link DatagramPorts#MAX_BYTES}, from an address of the destination's family, or
     * drops it and gives false if the ring has no room; {@code counted} if the sender waits for room.
     */
    boolean sendDatagram(DatagramPorts.Route route, InetSocketAddress source, MemorySegment data, boolean counted) {
        InetSocketAddress destination = route.destination;
        byte[] to = destination.getAddress().getAddress();
        byte[] from = source.getAddress().getAddress();
        writer.lock();
        try {
            if (held || !writer.begin(to.length + from.length + (int) data.byteSize())) {
                return false;
            }
            writer.header(DATAGRAM, to.length, UNKNOWN_SLOT, destination.getPort() | source.getPort() << Short.SIZE,
                    counted ? route.count((int) data.byteSize()) : 0);
            MemorySegment ring = writer.memory();
            long offset = writer.payloadOffset();
            MemorySegment.copy(to, 0, ring, ValueLayout.JAVA_BYTE, offset, to.length);
            MemorySegment.copy(from, 0, ring, ValueLayout.JAVA_BYTE, offset + to.length, from.length);
            MemorySegment.copy(data, 0, ring, offset + to.length + from.length, data.byteSize());
            writer.publish();
        } finally {
            writer.unlock();
        }
        writer.notifyPeer();
        return true;
    }

    /** Tells that a datagram to an address was taken; not if the ring has no room: then a sender waits longer. */
    void sendTaken(InetSocketAddress address, long told) {
        byte[] at = address.getAddress().getAddress();
        writer.lock();
        try {
            if (held || !writer.begin(at.length)) {
                return;
            }
            writer.header(TAKEN, 0, UNKNOWN_SLOT, address.getPort(), told);
            MemorySegment.copy(at, 0, writer.memory(), ValueLayout.JAVA_BYTE, writer.payloadOffset(), at.length);
            writer.publish();
        } finally {
            writer.unlock();
        }
        writer.ringPeer(); // a process that only sends may not ask to be rung
    }

    /** Has {@link SendQueue#resume} called once the peer posts a receive, or there is room. Then look once more. */
    void resumeLater(SendQueue queue) {
        waiting.add(queue);
    }

    // Entries of the peer.

    /** Looks as often as told, or until {@link #poll} may have something to do; for a thread that spins. */
    boolean spin(int looks) {
        return held || !waiting.isEmpty() || link.spin(looks);
    }

    /**
     * Takes what is there, for a thread that polls a completion queue. Never waits for another thread, and throws
     * nothing: the polling thread serves other links, too.
     */
    void poll() {
        try {
            link.tryDrain(BATCH);
            goOn();
        } catch (RuntimeException e) {
            broken(e);
        } catch (Error e) { // something is left behind, perhaps for lack of memory
            lookAgain();
        }
    }

    /** Ends a connection, once there is memory for that, as if an entry of this kind were lost. Takes no memory. */
    void endLater(RemotePeer peer, int kind, Error cause) {
        peer.spoil(kind);
        lost = cause;
        lookAgain();
    }

    /** Lets waiting threads come back to this. Takes no memory. */
    private void lookAgain() {
        postpone();
        for (SharedMemoryCompletionQueue queue : served) {
            queue.wake();
        }
    }

    /**
     * Makes the peer ring at its next entry, and takes what came before. Returns at once while the peer is asked
     * already, so that a process with many peers pays only for active ones: the doorbell to come asks again if a queue
     * is armed.
     */
    void arm() {
        // Between the queue's flag, which the caller has set, and ours; onDoorbell clears ours, fences and reads its.
        VarHandle.fullFence();
        if (armed) {
            return;
        }
        askToRing();
        try {
            if (!drainSome()) {
                postpone();
            }
            goOn();
        } catch (Error e) { // something is left behind, as in poll
            armed = false;
            lookAgain();
        }
    }

    /** Clears the flag if arming fails. */
    private void askToRing() {
        armed = true;
        try {
            link.arm();
        } catch (Throwable e) {
            armed = false;
            throw e;
        }
    }

    /** Takes everything that the peer has published by now, even if it has died since. */
    void catchUp() {
        drainSome();
        try {
            goOn();
        } catch (Error e) { // it concerns another connection
            lookAgain();
        }
    }

    /** Resumes all that had to wait. */
    private void goOn() {
        try {
            if (lost != null) {
                breakUp();
            }
            if (held) {
                sendHeld();
            }
            if (!waiting.isEmpty()) {
                resumeWaiting(waiting.toArray(SendQueue[]::new));
            }
        } catch (RuntimeException e) {
            broken(e);
        }
    }

    /** Ends the connections that lost an entry, as far as there is memory for that. */
    private void breakUp() {
        Object cause = lost;
        lost = null;
        for (RemotePeer peer : peers) {
            try {
                if (peer != null) {
                    peer.breakUp();
                }
            } catch (Error e) {
                lost = e;
            }
        }
        if (lost != null) {
            lookAgain();
        } else if (cause instanceof Error) {
            LIMITED.warn("connections of process {} end, as there was no room for what came for them; give this "
                    + "process more memory (-Xmx), or the threads that use sockets more stack (-Xss)",
                    link.peerProcess(), cause);
        }
    }

    /** Resumes each, even after an {@code Error} of another, which is tried again. */
    private void resumeWaiting(SendQueue[] all) {
        Error failure = null;
        for (SendQueue queue : all) {
            waiting.remove(queue);
            boolean resumed = false;
            try {
                queue.resume();
                resumed = true;
            } catch (Error e) {
                failure = e;
            } finally {
                if (!resumed) {
                    waiting.add(queue);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    private void sendHeld() {
        writer.lock();
        try {
            held = !publishHeld();
        } finally {
            writer.unlock();
        }
        try {
            writer.ringPeer();
        } catch (Throwable e) {
            held = true;
            throw e;
        }
    }

    /** Ends the link, and nothing else: threads of other connections call this. */
    private void broken(Throwable e) {
        link.fail(FAULT_HERE);
        try {
            LIMITED.error("a link to process {} ends by a fault in this library; please report it", link.peerProcess(),
                    e);
        } catch (OutOfMemoryError noMemory) {
            return; // users of the link hear of it all the same
        }
    }

    /** Lets the thread that waits go on with the entries that are left. */
    private void postpone() {
        if (!postponed.getAndSet(true)) {
            fabric.links.drainLater(this);
        }
    }

    /** Goes on with entries that were left behind. */
    void drainPostponed() {
        postponed.set(false);
        try {
            onDoorbell(link);
            if (lost instanceof Error e) {
                throw e; // the waiting thread pauses, and perhaps there is memory again
            }
        } catch (Throwable e) {
            postpone();
            throw e;
        }
    }

    @Override
    public void onDoorbell(Link source) {
        armed = false;
        VarHandle.fullFence();
        boolean empty = drainSome();
        goOn();
        if (empty && isWanted()) {
            askToRing();
            empty = drainSome();
        }
        if (!empty) {
            postpone();
        }
    }

    /** Whether a completion queue waits for what comes. */
    private boolean isWanted() {
        for (SharedMemoryCompletionQueue queue : served) {
            if (queue.arrivals.isArmed()) {
                return true;
            }
        }
        return false;
    }

    /** Takes a bounded number of entries, at least as many as the ring can hold; true if no more were there. */
    private boolean drainSome() {
        for (int i = 0; i < BATCHES; i++) {
            if (link.drain(BATCH) < BATCH) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void onClosed(Link source, String reason) {
        try {
            drainSome();
        } finally {
            synchronized (this) {
                closed = true;
                for (RemotePeer peer : peers) {
                    if (peer != null) {
                        peer.spoil(LINK_DIED);
                    }
                }
            }
            lost = reason;
            try {
                goOn();
            } finally {
                closeLink();
            }
        }
        LOG.debug("a link to another process ended: {}", reason);
    }

    /** Closes the link, and tells datagram sockets of its end even if an {@code Error} cuts the close short. */
    private void closeLink() {
        try {
            link.close();
        } finally {
            fabric.links.ended(this);
        }
    }

    @Override
    public void onEntry(Link source, RingEntry entry) {
        if (spoiled && isOfLost(entry)) {
            return;
        }
        try {
            switch (entry.kind()) {
                case CONNECT -> onConnect(entry);
                case END -> onEnd(entry);
                case ACCEPT -> peer(entry).onAccept(entry);
                case REJECT -> peer(entry).onReject(entry);
                case ACKNOWLEDGE -> peer(entry).identifier.acknowledged();
                case FAILED -> peer(entry).onFailed(entry.flags() == FAULT);
                case SEND -> peer(entry).onSend(entry);
                case WRITE -> peer(entry).onWrite(entry);
                case OPEN_WRITE -> peer(entry).onOpenWrite(entry);
                case INLINE_WRITE -> peer(entry).onInlineWrite(entry);
                case DATAGRAM -> fabric.datagramPorts().onDatagram(this, entry);
                case TAKEN -> fabric.datagramPorts().onTaken(this, entry);
                case WANT -> peer(entry).onWant(entry.value());
                default -> throw new IllegalArgumentException("there is no entry of kind " + entry.kind());
            }
        } catch (IllegalArgumentException e) {
            link.fail("the other process broke the protocol: " + e.getMessage());
        } catch (RuntimeException e) {
            broken(e);
        } catch (Error e) {
            // It could not be taken in, perhaps for lack of memory: its connection ends, and no other. There may be no
            // memory to end it either, so that is only noted here. A request that cannot be refused stays in the ring.
            if (entry.kind() == DATAGRAM || entry.kind() == TAKEN) {
                return; // any of these may be lost
            }
            RemotePeer peer = taking;
            taking = null;
            if (peer == null && entry.kind() != CONNECT) { // the slot of a request may have been another's
                peer = entry.slot() == UNKNOWN_SLOT ? withPeerSlot(entry.value()) : withSlot(entry.slot());
            }
            if (peer != null) {
                lose(peer, entry.kind(), e);
            } else if (entry.kind() == CONNECT) {
                sendRejection(entry.value());
            }
        }
    }

    /** Notes that a connection has lost an entry. Takes no memory. */
    private void lose(RemotePeer peer, int kind, Error cause) {
        peer.spoil(kind);
        spoiled = true;
        lost = cause;
    }

    /** Whether an entry is of a connection that ends because an earlier entry was lost. */
    private boolean isOfLost(RingEntry entry) {
        RemotePeer peer = withSlot(entry.slot());
        if (peer == null || !peer.spoiled) {
            return false;
        }
        if (entry.kind() == END || entry.kind() == REJECT) { // nothing follows
            if (!peer.spoilLast(entry.kind())) {
                return false;
            }
            lost = lost == null ? link : lost; // a thread in breakUp may have looked before
        }
        return true;
    }

    /** The connection that an entry names; one whose slot the other side cannot know yet is none. */
    private RemotePeer peer(RingEntry entry) {
        int slot = entry.slot();
        RemotePeer[] all = peers;
        RemotePeer peer = slot >= 0 && slot < all.length ? all[slot] : null; // as withSlot, one call less for each
        if (peer == null || !peer.slotTold) {
            throw new IllegalArgumentException("an entry of kind " + entry.kind() + " names slot " + slot
                    + ", where there is no connection");
        }
        return peer;
    }

    private void onConnect(RingEntry entry) {
        if (!link.isOpen()) {
            return;
        }
        ConnectMessage greeting = ConnectMessage.decode(entry);
        RemotePeer peer;
        try {
            peer = register(entry.value());
            taking = peer;
        } catch (VerbsException e) {
            LIMITED.warn("a connection of another process is refused: {}", e.getMessage());
            sendRejection(entry.value());
            return;
        }
        if (!peer.greet(greeting)) {
            peer.release();
            throw new IllegalArgumentException("slot " + entry.value() + " does not exist");
        }
        int refusal = offer(peer, greeting);
        if (refusal != 0) {
            try {
                peer.rejected(refusal, ConnectionPeer.NO_DATA);
            } catch (Error e) { // the refusal may have been sent: lose must not send it again
                lose(peer, CONNECT, e);
            }
        }
        taking = null;
    }

    /** Refuses a request for which there is no slot; an {@code Error} means that nothing was sent. */
    private void sendRejection(int peerSlot) {
        Letter letter = new Letter(REJECT, 0, peerSlot, SharedMemoryIdentifier.NOBODY_LISTENS,
                ConnectionPeer.NO_DATA);
        writer.lock();
        try {
            put(letter);
        } finally {
            writer.unlock();
        }
        ring();
    }

    /** 0, or why the request is refused. */
    private int offer(RemotePeer peer, ConnectMessage greeting) {
        InetSocketAddress destination = greeting.destination();
        boolean meant = link.isNear() || LocalAddresses.isBetweenHosts(destination.getAddress(),
                greeting.source().getAddress());
        SharedMemoryIdentifier listener = meant ? fabric.ports.listener(destination) : null;
        if (listener == null) {
            return SharedMemoryIdentifier.NOBODY_LISTENS;
        }
        SharedMemoryIdentifier request = listener.newRequest(destination, greeting.source(), peer,
                greeting.parameters());
        peer.identifier = request;
        return listener.offer(request);
    }

    /** The connection ends. A peer that gives up before it was accepted does not know our slot. */
    private void onEnd(RingEntry entry) {
        RemotePeer peer = entry.slot() != UNKNOWN_SLOT ? peer(entry) : withPeerSlot(entry.value());
        if (peer != null) {
            taking = peer;
            peer.onEnd();
            taking = null;
        }
    }

    /** The connection with a slot of this side, or null. */
    private RemotePeer withSlot(int slot) {
        RemotePeer[] all = peers;
        return slot >= 0 && slot < all.length ? all[slot] : null;
    }

    /** The connection with a slot of the other side, unless that side has ended it; or null. */
    private RemotePeer withPeerSlot(int peerSlot) {
        for (RemotePeer peer : peers) {
            if (peer != null && peer.peerSlot == peerSlot && !peer.endReceived) {
                return peer;
            }
        }
        return null;
    }
}
