package org.rdmasockets.internal.sharedmemory.link;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.ffi.PageSize;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * Reads the packets of a link's socket: doorbells, and what the peer announces and retracts. The hub reads it when the
 * socket has something, and so does any thread that misses a region. It calls no handler.
 */
final class ControlChannel {
    /** Most packets that the hub reads at once, so that a peer that floods the socket does not hold up others. */
    private static final int BATCH = 256;
    /** More packets than fit into any socket: among them is an announcement made before its key was told. */
    private static final int MOST_WAITING = 1 << 14;
    /** The stream is at its end. */
    static final int ENDED = 1;
    /** A packet has come since this was last told. */
    static final int RUNG = 2;
    private static final int AGAIN = Errno.EAGAIN.number();

    private static final LimitedLog LIMITED = new LimitedLog(new Log(ControlChannel.class));

    private final Link link;
    private final PacketSocket socket;
    /** The regions that the peer announced, by key; changed by the holder of the lock, found by any thread. */
    private final Map<Integer, PeerRegion> regions = new ConcurrentHashMap<>();
    /** Their sizes in bytes; guarded by lock. */
    private long openBytes;
    /** Guarded by lock. */
    private final PacketBuffer buffer = new PacketBuffer();
    /** Whether the packet in it still has to be obeyed, as memory was lacking; guarded by lock. */
    private boolean unread;
    /** The receive lock, held while packets are read and {@link #regions} changes. */
    private final SmallMutex lock = new SmallMutex();
    /** Whether a packet was read since the handler heard of one; guarded by lock. */
    private boolean rung;
    /** Slabs that the peer has announced; guarded by lock. */
    private int slabs;
    /** Whether the socket came to its end, or the link is closed; guarded by lock. */
    private boolean ended;

    ControlChannel(Link link, PacketSocket socket) {
        this.link = link;
        this.socket = socket;
    }

    /** Finds a region that is known, or whose announcement waits in the socket; or null. */
    PeerRegion find(int remoteKey) {
        PeerRegion region = regions.get(remoteKey);
        if (!link.isOpen()) {
            return region;
        }
        if (region != null && region.tryEnter()) {
            region.leave();
            return region;
        }
        // Not known, or closed by its owner, who may have given the key to another region since.
        lock.lock();
        try {
            try {
                read(MOST_WAITING, false);
            } finally {
                if (rung || ended) {
                    link.watchForRoom(); // there always is room, so the hub comes and looks
                }
            }
        } finally {
            lock.unlock();
        }
        return regions.get(remoteKey);
    }

    /** Reads what is there, within limits; returns {@link #ENDED} and {@link #RUNG}, if found. */
    int receive() {
        lock.lock();
        try {
            read(BATCH, true);
            int found = (ended ? ENDED : 0) | (rung ? RUNG : 0);
            rung = false;
            return found;
        } finally {
            lock.unlock();
        }
    }

    /** Lets the next {@link #receive} tell of a packet. */
    void leaveRung() {
        lock.lock();
        rung = true;
        lock.unlock();
    }

    /**
     * Reads so many packets at most. The hub may stop at a doorbell, behind which there is hardly ever anything: the
     * kernel tells it again as long as there are packets.
     */
    private void read(int limit, boolean stopsAtDoorbell) {
        for (int i = 0; i < limit && !ended; i++) {
            int length = unread ? buffer.length() : socket.receive(buffer);
            if (length == -AGAIN) {
                return;
            }
            if (length <= 0 || !link.isOpen()) {
                buffer.closeDescriptor();
                ended = true;
            } else {
                // By any packet: a doorbell that found the socket full of other packets was not sent.
                rung = true;
                unread = true;
                if (!LinkPacket.isDoorbell(buffer)) {
                    obey();
                } else {
                    unread = false;
                    if (stopsAtDoorbell) {
                        return;
                    }
                }
            }
        }
    }

    /** Obeys the packet; after an {@code Error}, again later: it may concern memory of many connections. */
    private void obey() {
        switch (LinkPacket.type(buffer)) {
            case LinkPacket.ANNOUNCE -> map();
            case LinkPacket.RETRACT -> retract(LinkPacket.number(buffer));
            case LinkPacket.LOST -> link.slabs().lost(LinkPacket.number(buffer));
            default -> link.fail("the peer sent a packet that has no meaning, of " + buffer.length() + " bytes");
        }
        unread = false;
        buffer.closeDescriptor();
    }

    private void map() {
        int key = LinkPacket.number(buffer);
        long length = LinkPacket.second(buffer);
        if (length < 1 || length > Link.MOST_REGION_BYTES - openBytes
                || regions.size() >= Link.MOST_REGIONS || regions.get(key) != null) {
            link.fail("the peer announced a region that is too much or has a key twice: lengthBytes=" + length
                    + ", regions=" + regions.size() + ", key=" + key);
            return;
        }
        long address = LinkPacket.first(buffer);
        if (PageSize.roundUp(address) != address) { // a multiple of 8 there would be none in the mapping
            link.fail("the peer announced a region at an address where no page begins: address=0x"
                    + Long.toHexString(address) + ", key=" + key);
        } else if (buffer.isDescriptorLost()) {
            addLost("this process has too many open files");
        } else if (!PeerRegion.reserve(length)) {
            addLost("other processes share more than " + PeerRegion.MOST_OF_PROCESS + " regions or "
                    + PeerRegion.MOST_BYTES_OF_PROCESS + " bytes with this one: use fewer connections");
        } else {
            mapReserved();
        }
    }

    private void mapReserved() {
        PeerRegion mapped = null;
        try {
            mapped = new PeerRegion(buffer);
        } catch (VerbsException e) {
            if (e.errno() == Errno.EPROTO) {
                link.fail("a region of the peer cannot be mapped: " + e.getMessage());
            } else {
                addLost(e.getMessage());
            }
            return;
        } finally {
            if (mapped == null) {
                PeerRegion.release(LinkPacket.second(buffer));
            }
        }
        try {
            add(mapped);
            if (mapped.tag() == Slabs.TAG) {
                takeSlab(mapped);
            }
        } catch (Throwable e) {
            remove(mapped);
            throw e;
        }
    }

    private void takeSlab(PeerRegion slab) {
        if (Slabs.pages(slab.lengthBytes()) == 0) {
            link.fail("a slab of the peer has no size that slabs have: lengthBytes=" + slab.lengthBytes());
        } else if (slabs == Slabs.MOST_SLABS) {
            link.fail("the peer announced more than " + Slabs.MOST_SLABS + " slabs");
        } else {
            link.addSlab(slab);
            slabs++;
        }
    }

    /**
     * Adds a region without memory, for a reason that is not the peer's: no thread can enter it. A slab is for many
     * connections, so the peer hears of it, and gives later ones another slab.
     */
    private void addLost(String reason) {
        LIMITED.warn("Memory of another process cannot be used, and its connection will fail: {}; raise ulimit -n or "
                + "the sysctl vm.max_map_count", reason);
        PeerRegion region = new PeerRegion(buffer, LinkPacket.second(buffer));
        try {
            add(region);
            if (region.tag() == Slabs.TAG) {
                link.announced.refuse(region.remoteKey());
            }
        } catch (Throwable e) {
            remove(region);
            throw e;
        }
    }

    private void retract(int key) {
        PeerRegion region = regions.get(key);
        if (region == null) {
            link.fail("the peer took back a region that it never announced: key=" + key);
        } else {
            remove(region);
        }
    }

    /** Adds a region whose key no other has, or throws: then it is not added. */
    private void add(PeerRegion region) {
        Integer key = region.remoteKey();
        try {
            regions.put(key, region);
        } catch (Throwable e) {
            regions.remove(key);
            throw e;
        }
        openBytes += region.lengthBytes();
    }

    /** Closes a region, and removes it if it was added. */
    private void remove(PeerRegion region) {
        try {
            if (regions.remove(region.remoteKey(), region)) {
                openBytes -= region.lengthBytes();
            }
        } finally {
            region.close();
        }
    }

    /** Forgets the peer's regions: the link is dead. */
    void clear() {
        lock.lock();
        try {
            ended = true;
            try {
                buffer.closeDescriptor();
            } finally {
                closeAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Closes and removes all, even if the close of one throws. */
    private void closeAll() {
        Error failure = null;
        for (PeerRegion region : regions.values()) {
            try {
                region.close();
            } catch (Error e) {
                failure = e;
            }
        }
        regions.clear();
        openBytes = 0;
        if (failure != null) {
            throw failure;
        }
    }
}
