package org.rdmasockets.internal.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.ffi.Epoll;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The connection of this process with another one of the same host: a ring of entries each way, memory regions
 * announced each way, doorbells, and word of the peer's death.
 *
 * <p>Locks, in the order in which they are taken: the consumer lock (while draining), locks of the users, the lock of
 * {@link RingWriter}, the socket's. Any thread may call anything; none of it waits for the peer.
 */
public final class Link extends Source implements AutoCloseable {
    /** Most regions announced each way. */
    public static final int MOST_REGIONS = 1 << 14;
    /** Most bytes announced each way; untouched memory costs nothing. */
    public static final long MOST_REGION_BYTES = 1L << 40;

    final LinkMemory mapping;
    /** The memory of the link, for threads that have entered it. */
    private final ByteBuffer buffer;
    final int side;
    final PeerId peer;
    private final SmallMutex consumerLock = new SmallMutex();
    /** Guarded by consumerLock. */
    private final RingReader reader;
    /** Whether the reader keeps the memory mapped, so that draining needs no guard; guarded by consumerLock. */
    private boolean readable;
    private final RingWriter writer;
    private final ControlChannel channel;
    final AnnouncedRegions announced;
    private final Slabs slabs = new Slabs(this);
    /** Slabs of the peer; replaced, never changed, by the holder of the receive lock. */
    private volatile PeerRegion[] peerSlabs = {};
    /** Slots that are taken; guarded by itself. */
    private final BitSet slots = new BitSet();
    /** Why the link is dead; set once. */
    private final AtomicReference<String> failure = new AtomicReference<>();
    /** Whether there is one. */
    private volatile boolean failed;
    /** Set once, under consumerLock. */
    private volatile LinkHandler handler;
    /** Whether the handler heard of the end, or the link was closed. */
    private final AtomicBoolean finished = new AtomicBoolean();
    /** Whether the hub was asked to come when the socket has room. */
    private final AtomicBoolean watchedForRoom = new AtomicBoolean();
    /** Whether the peer is known to be of this network namespace. */
    volatile boolean near;
    /** For all regions that know no other link; never changed. */
    final Link[] alone = {this};

    private Link(LinkHub hub, PacketSocket socket, LinkMemory mapping, int side, PeerId peer) {
        super(hub, socket);
        this.mapping = mapping;
        this.side = side;
        this.peer = peer;
        buffer = mapping.asBuffer();
        reader = new RingReader(this, mapping.memory(), buffer, 1 - side);
        writer = new RingWriter(this, mapping.memory(), buffer, side);
        channel = new ControlChannel(this, socket);
        announced = new AnnouncedRegions(this, socket);
        readable = mapping.enter();
        near = !hub.policy.isExtended();
    }

    /** Takes over a socket and memory, or closes the memory; side 0 if this process dialled. */
    static Link over(LinkHub hub, PacketSocket socket, LinkMemory mapping, int side, PeerId peer) {
        try {
            return new Link(hub, socket, mapping, side, peer);
        } catch (Throwable e) {
            mapping.close();
            throw e;
        }
    }

    /** Gets the handler; a thread that the owner tells of this link cannot drain it before the handler is known. */
    void begin(LinkHub.LinkOwner owner) {
        consumerLock.lock();
        try {
            handler = owner.onLink(this);
        } finally {
            unlockConsumer();
        }
    }

    /**
     * The result of {@link LinkHub.LinkOwner#onLink} for this link, which gets all that comes; null before it returned.
     */
    public LinkHandler handler() {
        return handler;
    }

    /** The number of the peer's process, for messages; 0 if it has none here (in another container). */
    public int peerProcess() {
        return peer.process();
    }

    /** The user of this process. */
    public static int ownUser() {
        return PacketSocket.ownUser();
    }

    /** The user of the peer's process, by the kernel's word. */
    public int peerUser() {
        return peer.user();
    }

    /** Whether the peer is of this network namespace, so that loopback is the same there and here. */
    public boolean isNear() {
        return near;
    }

    /** Whether the peer's process is known to be stopped. */
    public boolean isPeerStopped() {
        return peer.isStopped();
    }

    /** Whether entries can come and go; false once the link failed, perhaps before {@link LinkHandler#onClosed}. */
    public boolean isOpen() {
        return !failed;
    }

    /** Why the link is dead, or null. */
    String failure() {
        return failure.get();
    }

    /** Lets the hub come as soon as the socket has room. */
    void watchForRoom() {
        watch(true);
    }

    /** Lets the hub come when the socket can be read, or when room was asked for and is there. */
    void watch() {
        watch(watchedForRoom.get());
    }

    /** Watches for room only if the flag says so: a socket has room always, and the hub would come again and again. */
    private void watch(boolean forRoom) {
        synchronized (watchedForRoom) {
            watchedForRoom.set(forRoom);
            try {
                hub.watchFor(this, Epoll.READABLE | (forRoom ? Epoll.WRITABLE : 0));
            } catch (VerbsException e) {
                fail("its socket cannot be watched: " + e.getMessage()); // or it is being closed
            }
        }
    }

    /**
     * Hands entries to the handler, oldest first, waiting for another thread that drains. Allocates nothing, and takes
     * a system call only if the peer waits for room. Works on a dead link, too, until {@link #close}. Tells how many
     * were taken, counting padding that no handler sees; fewer than the limit means that the ring was empty.
     */
    public int drain(int limit) {
        return drain(limit, true);
    }

    /** As {@link #drain}, but leaves at once if another thread drains; not enough after {@link #arm}. */
    public int tryDrain(int limit) {
        return drain(limit, false);
    }

    /**
     * Looks at least once for entries, spinning in between: true as soon as there may be some, false if there was none
     * at the last look, or after {@link #close}. Neither waits for a lock nor allocates.
     */
    public boolean spin(int looks) {
        if (!mapping.enter()) {
            return false;
        }
        try {
            return reader.spin(looks);
        } finally {
            mapping.leave();
        }
    }

    private int drain(int limit, boolean waits) {
        boolean blocked = false;
        if (waits) {
            consumerLock.lock();
        } else if (!consumerLock.tryLock()) {
            return 0;
        }
        try {
            int taken = readable && !mapping.isClosed() ? reader.read(limit) : 0;
            blocked = taken > 0 && reader.takeBlocked();
            return taken;
        } finally {
            unlockConsumer();
            if (blocked) {
                socket.ring();
            }
        }
    }

    private void unlockConsumer() {
        consumerLock.unlock();
        if (mapping.isClosed()) {
            stopReading();
        }
    }

    /** Lets the memory of a closed link go; a thread that drains meanwhile, perhaps this one, does so when done. */
    private void stopReading() {
        if (consumerLock.tryLock()) {
            try {
                if (readable) {
                    readable = false;
                    mapping.leave();
                }
            } finally {
                consumerLock.unlock();
            }
        }
    }

    /** Makes the peer ring at its next entry, once; {@link #drain} after this. A new link is armed. */
    public void arm() {
        if (mapping.enter()) {
            try {
                reader.arm();
            } finally {
                mapping.leave();
            }
        }
    }

    /** Puts entries into the ring. */
    public RingWriter writer() {
        return writer;
    }

    /** Takes a slot, with a count of 0; {@code ENOSPC} if all are taken, {@code ECONNRESET} if the link is dead. */
    public LinkSlot openSlot() throws VerbsException {
        if (!isOpen() || !mapping.enter()) {
            throw new VerbsException("open a slot", Errno.ECONNRESET, "the link is dead: " + failure.get());
        }
        LinkSlot opened = null;
        try {
            synchronized (slots) {
                int index = slots.nextClearBit(0);
                if (index == LinkSlot.MOST) {
                    throw new VerbsException("open a slot", Errno.ENOSPC.number(), "slots=" + index,
                            "two processes can have so many connections with each other; close some");
                }
                LinkSlot slot = new LinkSlot(this, buffer, side, index);
                slots.set(index);
                opened = slot;
            }
            return opened;
        } finally {
            if (opened == null) {
                mapping.leave();
            }
        }
    }

    /** Takes a slot back. */
    void closeSlot(int index) {
        synchronized (slots) {
            slots.clear(index);
        }
        mapping.leave();
    }

    /**
     * Gives the peer access to a region, by a key that is always the same and not used for another, with a
     * {@linkplain PeerRegion#tag tag}. An entry published after this returned finds it there: if the socket has no
     * room, the ring is held up until it has. Announcing a region twice on one link is harmless. Throws {@code ENOSPC}
     * if there are too many or too large ones, {@code ECONNRESET} if the link is dead, {@code ESHUTDOWN} if the region
     * is closed.
     */
    public void announce(SharedRegion region, int remoteKey, Set<AccessFlag> access, long tag) throws VerbsException {
        announced.announce(region, remoteKey, PeerRegion.bits(access), tag);
    }

    /**
     * Finds a region that the peer announced, or null, reading announcements that have arrived if it is not known yet.
     * Takes no system call when it is known.
     */
    public PeerRegion peerRegion(int remoteKey) {
        return channel.find(remoteKey);
    }

    /**
     * Finds memory of the peer by its key and an address in it, or null. The caller keeps the link's memory mapped, by
     * an open slot, as long as it uses what it finds.
     */
    public PeerMemory peerMemory(int remoteKey, long address) {
        PeerMemory found = findSlice(remoteKey, address);
        if (found == null) {
            found = peerRegion(remoteKey);
        }
        // The slab may have come just now.
        return found != null ? found : findSlice(remoteKey, address);
    }

    private PeerSlice findSlice(int remoteKey, long address) {
        for (PeerRegion slab : peerSlabs) {
            PeerSlice found = PeerSlice.find(slab, Slabs.pages(slab.lengthBytes()), remoteKey, address);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** A slab of the peer has come. */
    void addSlab(PeerRegion slab) {
        PeerRegion[] more = Arrays.copyOf(peerSlabs, peerSlabs.length + 1);
        more[peerSlabs.length] = slab;
        if (slab.segment().address() != 0 && mapping.keep(slab)) {
            peerSlabs = more;
        }
    }

    /** Lets the peer know that this side gave up a name. */
    void nameGivenUp() {
        if (mapping.enter()) {
            try {
                SegmentLayout.INT.getAndAdd(buffer, SegmentLayout.control(side) + SegmentLayout.NAMES, 1);
            } finally {
                mapping.leave();
            }
        }
    }

    /**
     * How many names the peer has given up, as it says, wrapping around: where it was found once, it listens until this
     * changes. 0 after {@link #close}.
     */
    public int peerNamesGivenUp() {
        if (!mapping.enter()) {
            return 0;
        }
        try {
            return (int) SegmentLayout.INT.getVolatile(buffer, SegmentLayout.control(1 - side) + SegmentLayout.NAMES);
        } finally {
            mapping.leave();
        }
    }

    /** Memory for the connections of this link. */
    public Slabs slabs() {
        return slabs;
    }

    /**
     * Ends the link because of what the peer did or because of a failure here, told as a sentence for a person;
     * {@link LinkHandler#onClosed} follows in the hub's thread. The first reason stays.
     */
    public void fail(String reason) {
        boolean first = failure.compareAndSet(null, reason);
        failed = true;
        if (first) {
            socket.shutdown();
        }
    }

    /** Lets the hub look again at what could not be taken in: the link has many connections. There is room always. */
    @Override
    void failed() {
        watchForRoom();
    }

    @Override
    void finish() {
        end("the device was closed");
    }

    /** The socket has something: packets, room or its end. */
    @Override
    void ready(PacketBuffer buffer) {
        // Before the rest: a thread that asks for room after this has left behind what is looked at below.
        if (watchedForRoom.get()) {
            watch(false);
        }
        int found = channel.receive();
        if ((found & ControlChannel.ENDED) != 0 || !isOpen()) {
            end("the peer's process ended or closed the link");
            return;
        }
        try {
            boolean freed = announced.heldUp && announced.flush();
            if (announced.heldUp) {
                watchForRoom();
            }
            if (freed || (found & ControlChannel.RUNG) != 0) {
                handler.onDoorbell(this);
            }
        } catch (Throwable e) {
            channel.leaveRung();
            throw e;
        }
    }

    /** Frees what a dead link does not need any more, and tells the handler, once. */
    void end(String reason) {
        fail(reason);
        if (!finished.getAndSet(true)) {
            try {
                // Before the regions go: so a request fails because the peer has gone, not because of its key.
                handler.onClosed(this, failure.get());
            } finally {
                forget();
            }
        }
    }

    /** Takes each step, even if another throws. */
    private void forget() {
        try {
            hub.forget(this);
        } finally {
            try {
                socket.close();
            } finally {
                forgetRegions();
            }
        }
    }

    /** Announced regions come before the slabs, which take nothing back then. */
    private void forgetRegions() {
        try {
            channel.clear();
        } finally {
            try {
                announced.clear();
            } finally {
                slabs.close();
            }
        }
    }

    /** The memory, for tests that play a hostile peer. */
    MemorySegment memory() {
        return mapping.memory();
    }

    /** Ends the link, and frees its memory once the last slot is closed. The handler hears nothing more. Idempotent. */
    @Override
    public void close() {
        StackRoom.ensureSection(); // a socket that is watched, and is no source, is ready for ever
        // First, so that the hub's thread, which sees the socket end, does not tell the handler.
        boolean first = !finished.getAndSet(true);
        fail("the link was closed");
        try {
            if (first) {
                forget();
            }
        } finally {
            mapping.close();
            stopReading();
        }
    }
}
