package org.rdmasockets.internal.connection;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.rsockets.StreamMemory;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.VerbsException;

/**
 * The memory of one connection that comes and goes. Registering takes half a millisecond, so the set-up pool does it,
 * and never a call that reads or writes. After a pause it gives back what it can; see {@link StreamMemory}.
 */
final class RingSizer {
    private static final Log LOG = new Log(RingSizer.class);
    /** How long a connection is idle before it gives memory back; twice as long each time that not all went. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** Chunks that come together: one being filled, one being read. */
    private static final int CHUNKS = 2;

    /** Most doublings of the pause. */
    private static final int MOST_DOUBLINGS = 30;

    private final StreamTransport transport;
    private final StreamMemory memory;
    /** The bytes that the inbox was told last; protected by the protocol lock. */
    private int patienceBytes = Integer.MAX_VALUE;
    /** A task that gets and closes memory is on its way; protected by the protocol lock. */
    private boolean tending;
    /** A pause is of interest; changed under the protocol lock. */
    private volatile boolean large;
    /** Null as long as the connection has never had more than it was made with; made under the protocol lock. */
    private volatile Growth growth;

    /** The state of a connection that has grown. */
    private static final class Growth {
        /** Registered besides what the connection was made with; changed under the protocol lock. */
        private volatile long bytes;
        /** Activity from which the pause counts; poller thread only. */
        private long seenActivity;
        /** How often the pause has doubled since; poller thread only. */
        private byte doublings;

        long pauseNanos() {
            return PAUSE_NANOS << doublings;
        }
    }

    RingSizer(StreamTransport transport) {
        this.transport = transport;
        memory = transport.stream().memory();
    }

    /** Protocol lock held. */
    private Growth growth() {
        if (growth == null) {
            growth = new Growth();
        }
        return growth;
    }

    /** Protocol lock held: what the connection needs may have changed. */
    void adapt() {
        boolean now = transport.stream().isLarge();
        if (now != large) {
            growth();
            large = now;
            transport.connection().attend(); // a pause is of interest, or was
        }
        int patience = memory.patienceBytes();
        if (patience != patienceBytes) {
            patienceBytes = patience;
            transport.inbox().backlogBytes(patience);
        }
        if (!tending && memory.isDue()) {
            tending = true;
            transport.connection().later(this::tend);
        }
    }

    /** Set-up pool: closes what is not needed any more and makes what is wanted, until nothing is due. */
    private void tend() {
        try {
            do {
                tendOnce();
            } while (isDue());
        } catch (Throwable e) {
            refuse(true);
            throw e;
        }
    }

    private void tendOnce() {
        List<MemoryRegion> retired;
        int chunkBytes;
        int sendBytes;
        transport.inbox().enter();
        try {
            retired = memory.takeRetired();
            chunkBytes = memory.wantedChunkBytes();
            sendBytes = memory.wantedSendBytes();
        } finally {
            transport.inbox().exit();
        }
        retired.forEach(MemoryRegion::close);
        supply(chunkBytes, sendBytes);
    }

    private boolean isDue() {
        transport.inbox().enter();
        try {
            transport.stream().sendControls();
            transport.noteWrite();
            tending = memory.isDue();
            growth().bytes = memory.bytes();
            return tending;
        } finally {
            transport.inbox().exit();
        }
    }

    private void supply(int chunkBytes, int sendBytes) {
        try {
            for (int i = 1; chunkBytes > 0 && i <= CHUNKS; i++) {
                boolean last = i == CHUNKS;
                give(transport.allocateRemote(chunkBytes), region -> memory.supplyChunk(region, chunkBytes, last));
            }
            if (sendBytes > 0) {
                give(transport.allocateLocal(sendBytes), region -> memory.supplySend(region, sendBytes));
            }
        } catch (VerbsException e) {
            LOG.debug("a connection stays small: {}", e.getMessage());
            refuse(false);
        }
    }

    /** Gives a region to the connection, which does not take it any more if it has ended. */
    private void give(MemoryRegion region, Predicate<MemoryRegion> taker) {
        boolean taken = false;
        transport.inbox().enter();
        try {
            taken = taker.test(region);
        } finally {
            transport.inbox().exit();
            if (!taken) {
                region.close();
            }
        }
    }

    /** The connection goes on with what it has, and gets memory after the next pause; after a fault this ends. */
    private void refuse(boolean fault) {
        transport.inbox().enter();
        try {
            memory.refuse();
            tending &= !fault;
        } finally {
            transport.inbox().exit();
        }
    }

    /** Poller thread, now and then: whether the connection has been idle for so long that it should shrink now. */
    boolean isPauseOver(long now, long lastActivity) {
        if (!large) {
            return false;
        }
        Growth grown = growth;
        if (lastActivity != grown.seenActivity) {
            grown.seenActivity = lastActivity;
            grown.doublings = 0;
        }
        boolean over = now - lastActivity > grown.pauseNanos();
        if (over) {
            grown.doublings = (byte) Math.min(grown.doublings + 1, MOST_DOUBLINGS);
        }
        return over;
    }

    /** Poller thread: whether {@link #isPauseOver} may say so before two rounds of visits are over. */
    boolean isPauseNear(long now) {
        Growth grown = large ? growth : null;
        return grown != null && now + 2 * Engine.ROUND_NANOS - grown.seenActivity > grown.pauseNanos();
    }

    long bytes() {
        Growth grown = growth;
        return grown == null ? 0 : grown.bytes;
    }
}
