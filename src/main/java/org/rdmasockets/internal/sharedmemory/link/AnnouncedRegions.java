package org.rdmasockets.internal.sharedmemory.link;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The regions that this side announced on a link, and packets about them for which the socket had no room. While there
 * are such packets, the ring is held up, so that no entry overtakes the announcement of its memory.
 */
final class AnnouncedRegions {
    private static final int AGAIN = Errno.EAGAIN.number();

    /**
     * A packet about a region that has to wait; an announcement has entered its region. The key is an object, so it is
     * made once. The region is null if it is the peer's.
     */
    private record Waiting(int type, Integer key, SharedRegion region, long accessBits, long tag) {}

    private final Link link;
    private final PacketSocket socket;
    private final SmallMutex lock = new SmallMutex();
    /** The announced regions, by key; null once the link is dead; guarded by lock. */
    private Map<Integer, SharedRegion> regions = new HashMap<>();
    /** Their sizes in bytes; guarded by lock. */
    private long bytes;
    /** Packets to be sent first; guarded by lock. */
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
    /** Made with the first announcement; guarded by lock. */
    private PacketBuffer buffer;
    /** Whether packets wait, and so must the ring; changed under lock, read by producers. */
    volatile boolean heldUp;

    AnnouncedRegions(Link link, PacketSocket socket) {
        this.link = link;
        this.socket = socket;
    }

    /** See {@link Link#announce}. */
    void announce(SharedRegion region, int remoteKey, long accessBits, long tag) throws VerbsException {
        lock.lock();
        try {
            if (regions == null || !link.isOpen()) {
                throw new VerbsException("announce", Errno.ECONNRESET, "the link is dead: " + link.failure());
            }
            SharedRegion known = regions.get(remoteKey);
            if (known == region) {
                return;
            }
            long length = region.segment().byteSize();
            if (known != null || regions.size() >= Link.MOST_REGIONS || bytes + length > Link.MOST_REGION_BYTES) {
                throw new VerbsException("announce", known != null ? Errno.EINVAL.number() : Errno.ENOSPC.number(),
                        "key=" + remoteKey + ", regions=" + regions.size() + ", bytes=" + bytes,
                        known != null ? "the key names another region" : "register fewer regions, or smaller ones");
            }
            Waiting packet = new Waiting(LinkPacket.ANNOUNCE, remoteKey, region, accessBits, tag);
            if (!region.enter()) {
                throw closed(remoteKey);
            }
            add(packet);
            bytes += length;
            send();
        } finally {
            lock.unlock();
        }
    }

    /** Notes that a region, which is entered, is about to be announced; changes nothing if it throws. */
    private void add(Waiting packet) throws VerbsException {
        try {
            buffer = buffer == null ? new PacketBuffer() : buffer;
            regions.put(packet.key(), packet.region());
            if (!packet.region().attach(link, packet.key())) {
                throw closed(packet.key());
            }
            waiting.add(packet);
        } catch (Throwable e) {
            packet.region().leave();
            regions.remove(packet.key());
            packet.region().detach(link);
            throw e;
        }
    }

    private static VerbsException closed(int remoteKey) {
        return new VerbsException("announce", Errno.ESHUTDOWN, "key=" + remoteKey + ", the region is closed");
    }

    /** Tells the peer that a region is gone. */
    void retract(int remoteKey) {
        lock.lock();
        try {
            SharedRegion region = regions == null ? null : regions.get(remoteKey);
            if (region != null) {
                Waiting packet = new Waiting(LinkPacket.RETRACT, remoteKey, region, 0, 0);
                waiting.add(packet);
                regions.remove(packet.key());
                bytes -= region.segment().byteSize();
                send();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Tells the peer that one of its slabs cannot be used here. */
    void refuse(int remoteKey) {
        lock.lock();
        try {
            if (regions != null) {
                buffer = buffer == null ? new PacketBuffer() : buffer;
                waiting.add(new Waiting(LinkPacket.LOST, remoteKey, null, 0, 0));
                send();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Sends the packet that was added last, after those that wait; the lock is held. */
    private void send() {
        try {
            if (waiting.size() == 1) {
                flushLocked();
            }
        } finally {
            if (!waiting.isEmpty() && !heldUp) {
                heldUp = true;
                link.watchForRoom();
            }
        }
    }

    /** Sends the packets that wait, as far as there is room; false if some still wait. */
    boolean flush() {
        lock.lock();
        try {
            return flushLocked();
        } finally {
            lock.unlock();
        }
    }

    private boolean flushLocked() {
        while (!waiting.isEmpty()) {
            int error = write(waiting.peek());
            if (error == AGAIN) {
                return false;
            }
            settle(waiting.poll());
            if (error != 0) {
                // A dead peer is noticed anyway; any other error would leave a link that misses an announcement.
                link.fail("the link's socket refuses a packet: " + Errno.of(error) + " (" + error + ")");
            }
        }
        heldUp = false;
        return true;
    }

    private int write(Waiting packet) {
        if (packet.type() != LinkPacket.ANNOUNCE) {
            LinkPacket.write(buffer, packet.type(), packet.key(), 0);
            return socket.send(buffer, LinkPacket.BYTES, -1);
        }
        LinkPacket.write(buffer, LinkPacket.ANNOUNCE, packet.key(), packet.region().segment().address());
        LinkPacket.writeRegion(buffer, packet.region().segment().byteSize(), packet.accessBits(), packet.tag());
        return socket.send(buffer, LinkPacket.BYTES, packet.region().descriptor);
    }

    /** Leaves the region of a packet that was sent, or never will be. */
    private static void settle(Waiting packet) {
        if (packet.type() == LinkPacket.ANNOUNCE) {
            packet.region().leave();
        }
    }

    /** Forgets everything: the link is dead. */
    void clear() {
        lock.lock();
        try {
            if (regions != null) {
                Map<Integer, SharedRegion> known = regions;
                regions = null;
                heldUp = false;
                while (!waiting.isEmpty()) {
                    settle(waiting.poll());
                }
                known.values().forEach(region -> region.detach(link));
            }
        } finally {
            lock.unlock();
        }
    }
}
