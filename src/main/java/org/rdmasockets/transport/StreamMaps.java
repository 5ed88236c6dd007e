package org.rdmasockets.transport;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.net.SocketException;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.stream.Mapping;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * The memory of one connection that its peer may write to beside the stream. Each map has a region and a key of its
 * own, which are gone when it is closed. The memory is another connection's then, so its segment lives in an arena that
 * is closed before: later accesses throw. (Closing a shared arena stops all threads for a moment; maps are few.) A
 * connection that ends leaves the memory to whoever has the segment. The map is ended by the application or, if that
 * forgets it, by the cleaner.
 */
final class StreamMaps {
    private final StreamDirect direct;
    private final StreamTransport transport;
    private final SetupPool pool;
    private final CompletionInbox inbox;
    /** Protected by the inbox's protocol lock. */
    private final Mapping mapping;
    /** Written with the protocol lock held. */
    private volatile long bytes;

    /** Protocol lock held: nothing is mapped yet. */
    StreamMaps(StreamDirect direct, StreamTransport transport, SetupPool pool) throws SocketException {
        this.direct = direct;
        this.transport = transport;
        this.pool = pool;
        this.inbox = transport.inbox();
        this.mapping = Mapping.of(transport.stream());
    }

    /** How much is mapped. */
    long bytes() {
        return bytes;
    }

    /** Makes a map; for the one writer, who tells the peer. See {@link Direct#map}. */
    DirectMemory map(int length, long offset) throws IOException {
        Entry entry = new Entry(reserve(offset, length));
        DirectMemory made = null;
        try {
            entry.region = Registration.await(pool, () -> transport.allocateRemote(length), MemoryRegion::close);
            while (!announce(entry)) {
                direct.awaitRoom(0);
            }
            made = memory(entry, length);
            return made;
        } finally {
            if (made == null) {
                entry.end();
            }
        }
    }

    private int reserve(long offset, int length) throws IOException {
        inbox.enter();
        try {
            transport.ensureOpen();
            return mapping.reserve(offset, length);
        } finally {
            inbox.exit();
        }
    }

    private boolean announce(Entry entry) throws IOException {
        inbox.enter();
        try {
            transport.ensureOpen();
            boolean told = mapping.announce(entry.index, entry.region);
            entry.bytes = told ? entry.region.lengthBytes() : 0;
            bytes += entry.bytes;
            transport.noteWrite();
            return told;
        } finally {
            inbox.exit();
        }
    }

    private DirectMemory memory(Entry entry, int length) {
        Arena arena = Arena.ofShared();
        MemorySegment segment = DirectView.within(arena, entry.region.segment().asSlice(0, length));
        // Who has any part of the segment has its scope.
        Cleaner.Cleanable end = Forgotten.whenForgotten(segment.scope(), () -> pool.execute(entry::end));
        return new DirectMemory(direct, entry.region, segment, unused -> unmap(entry, arena, end));
    }

    /** Nobody writes from it any more. Throws if somebody does I/O with the segment; then it stays mapped. */
    private static void unmap(Entry entry, Arena arena, Cleaner.Cleanable end) {
        arena.close();
        entry.release(); // before this returns, so that the next map finds room
        end.clean();
    }

    /** What one map has of the connection. It waits for the end of the segment, so it must not keep that. */
    private final class Entry {
        private final int index;
        /** Null until there is some; set before others see this. */
        private MemoryRegion region;
        /** What is counted; protected by the protocol lock, as the next. */
        private long bytes;
        private boolean released;

        /** An entry that is reserved. */
        Entry(int index) {
            this.index = index;
        }

        /** Leaves the offsets to other maps. Idempotent, any thread. */
        void release() {
            inbox.enter();
            try {
                if (!released) {
                    released = true;
                    mapping.release(index);
                    StreamMaps.this.bytes -= bytes;
                    transport.noteWrite();
                }
            } finally {
                inbox.exit();
            }
        }

        /** Ends the map, when nobody looks at it any more; once. */
        void end() {
            release();
            if (region != null) {
                pool.execute(region::close);
            }
        }
    }
}
