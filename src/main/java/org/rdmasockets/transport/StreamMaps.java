package org.rdmasockets.transport;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.stream.Mapping;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * The memory of one connection that its peer may write to beside the stream. Each map has a region and a key of its
 * own, which are gone when it is closed. The memory is another connection's then, so its segment lives in an arena that
 * is closed before: later accesses throw. (Closing a shared arena stops all threads for a moment; maps are few.) A
 * connection that ends leaves the memory to whoever has the segment. The region is closed by the application or, if
 * that forgets it, by the cleaner.
 */
final class StreamMaps {
    private final StreamDirect direct;
    private final StreamTransport transport;
    private final SetupPool pool;
    private final Resources resources;
    private final CompletionInbox inbox;
    /** Protected by the inbox's protocol lock. */
    private final Mapping mapping;
    /** Written with the protocol lock held. */
    private volatile long bytes;

    /** Protocol lock held: nothing is mapped yet. */
    StreamMaps(StreamDirect direct, StreamTransport transport, SetupPool pool, Resources resources) {
        this.direct = direct;
        this.transport = transport;
        this.pool = pool;
        this.resources = resources;
        this.inbox = resources.inbox();
        this.mapping = resources.stream().mapping();
    }

    /** How much is mapped. */
    long bytes() {
        return bytes;
    }

    /** Makes a map; for the one writer, who tells the peer. See {@link Direct#map}. */
    DirectMemory map(int length, long offset) throws IOException {
        int index = reserve(offset, length);
        MemoryRegion region = null;
        DirectMemory made = null;
        try {
            region = DirectPool.registered(pool, () -> resources.allocateRemote(length), MemoryRegion::close);
            while (!announce(index, region)) {
                direct.awaitRoom(0);
            }
            made = memory(index, region, length);
            return made;
        } finally {
            if (made == null) {
                release(index, 0);
            }
            if (made == null && region != null) {
                pool.execute(region::close);
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

    private boolean announce(int index, MemoryRegion region) throws IOException {
        inbox.enter();
        try {
            transport.ensureOpen();
            boolean told = mapping.announce(index, region);
            bytes += told ? region.lengthBytes() : 0;
            transport.noteWrite();
            return told;
        } finally {
            inbox.exit();
        }
    }

    private DirectMemory memory(int index, MemoryRegion region, int length) {
        Arena arena = Arena.ofShared();
        MemorySegment segment = DirectView.within(arena, region.segment().asSlice(0, length));
        SetupPool closer = pool;
        // Who has any part of the segment has its scope.
        Cleaner.Cleanable close = Forgotten.whenForgotten(segment.scope(), () -> closer.execute(region::close));
        return new DirectMemory(direct, region, segment, unused -> unmap(index, arena, region.lengthBytes(), close));
    }

    /** Nobody writes from it any more. Throws if somebody does I/O with the segment; then it stays mapped. */
    private void unmap(int index, Arena arena, long regionBytes, Cleaner.Cleanable close) {
        arena.close();
        release(index, regionBytes);
        close.clean();
    }

    private void release(int index, long regionBytes) {
        inbox.enter();
        try {
            mapping.release(index);
            bytes -= regionBytes;
            transport.noteWrite();
        } finally {
            inbox.exit();
        }
    }
}
