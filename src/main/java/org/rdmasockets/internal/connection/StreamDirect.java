package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.rsockets.DirectSender;
import org.rdmasockets.internal.rsockets.MemoryMapper;
import org.rdmasockets.internal.rsockets.StreamConnection;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.VerbsException;

/** The transfers of a connection over RDMA that copy nothing. Made when first asked for: others need nothing of it. */
final class StreamDirect implements ZeroCopyTransfers {
    /** In place of the peer's offset: the bytes belong to the stream. */
    private static final long IN_STREAM = -1;

    private final StreamTransport transport;
    private final CompletionInbox inbox;
    private final DirectPool pool = new DirectPool();
    /** Protected by the inbox's protocol lock, as the next. */
    private final StreamConnection stream;
    private final DirectSender sender;
    private final Consumer<DirectView> endOfView = this::end;
    /** Null until something is mapped; written with the protocol lock held. */
    private volatile StreamMaps maps;
    /** The view that is open, else null; protected by the protocol lock. */
    private DirectView view;
    /** The memory that the view has to close, because the connection has ended before; else null; likewise. */
    private Cleaner.Cleanable leftToView;
    /** The memory that the device may read although its write has failed; null until there is some; likewise. */
    private List<DirectMemory> stillRead;
    /** The queue pair is gone; likewise. */
    private boolean ended;

    /** Protocol lock held: of a connection, without memory of its own yet. */
    StreamDirect(StreamTransport transport) {
        this.transport = transport;
        this.inbox = transport.inbox();
        this.stream = transport.stream();
        this.sender = stream.directSender();
    }

    @Override
    public DirectMemory allocate(int bytes) throws IOException {
        transport.available(); // throws if it is closed
        MemoryRegion region = pool.take(bytes);
        return new DirectMemory(this, region, region.segment().asSlice(0, bytes), pool::giveBack);
    }

    @Override
    public void write(DirectMemory from, int offset, int length) throws IOException {
        send(IN_STREAM, from, offset, length);
    }

    @Override
    public void place(long at, DirectMemory from, int offset, int length) throws IOException {
        send(at, from, offset, length);
    }

    private void send(long at, DirectMemory from, int offset, int length) throws IOException {
        try {
            int done = 0;
            while (done < length) {
                long next = at == IN_STREAM ? IN_STREAM : at + done;
                int count = trySend(next, from.region, offset + done, length - done);
                done += count;
                if (count == 0) {
                    awaitRoom(done);
                }
            }
            awaitSent(done);
        } catch (Throwable e) {
            keepIfStillRead(from);
            throw e;
        }
    }

    /**
     * Keeps memory whose write has failed until the queue pair is gone, if the device may read it until then. To
     * deregister it would break the other work of the queue pair, and its next user would write to bytes that are being
     * sent.
     */
    private void keepIfStillRead(DirectMemory from) {
        from.keep(); // without the protocol lock: the close of a map takes both, the other way round
        if (!noteIfStillRead(from)) {
            from.leave();
        }
    }

    private boolean noteIfStillRead(DirectMemory from) {
        inbox.enter();
        try {
            boolean read = !ended && sender.giveUp();
            if (read) {
                stillRead = stillRead != null ? stillRead : new ArrayList<>();
                stillRead.add(from);
            }
            return read;
        } finally {
            inbox.exit();
        }
    }

    private void awaitSent(int done) throws IOException {
        while (!isSent()) {
            awaitRoom(done);
        }
    }

    /** Waits until the writer, which has done so many bytes, can go on. */
    private void awaitRoom(int done) throws InterruptedIOException {
        transport.awaitRoomAndEnter(done);
        inbox.exit();
    }

    private int trySend(long at, MemoryRegion from, int offset, int length) throws IOException {
        inbox.enter();
        try {
            transport.ensureOpen();
            int count = at == IN_STREAM ? sender.write(from, offset, length) : sender.place(at, from, offset, length);
            transport.noteWrite();
            return count;
        } finally {
            inbox.exit();
        }
    }

    private boolean isSent() throws IOException {
        inbox.enter();
        try {
            transport.ensureOpen();
            return sender.isSent();
        } finally {
            inbox.exit();
        }
    }

    @Override
    public DirectMemory map(int bytes, long offset) throws IOException {
        StreamMaps all;
        inbox.enter();
        try {
            transport.ensureOpen();
            maps = maps != null ? maps : new StreamMaps();
            all = maps;
        } finally {
            inbox.exit();
        }
        return all.map(bytes, offset);
    }

    @Override
    public DirectView receive(long deadlineNanos) throws IOException {
        transport.enterToRead();
        while (true) {
            try {
                transport.ensureOpen();
                int count = stream.view();
                if (count != 0) {
                    view = count < 0 ? null : DirectView.of(stream.viewedRegion().segment()
                            .asSlice(stream.viewedOffset(), count), endOfView);
                    return view;
                }
            } finally {
                inbox.exit();
            }
            transport.awaitBytesAndEnter(deadlineNanos);
        }
    }

    /** The reader has closed the view. */
    private void end(DirectView ended) {
        Cleaner.Cleanable left;
        inbox.enter();
        try {
            assert ended == view || leftToView != null;
            left = leftToView;
            view = null;
            stream.endView();
            transport.noteWrite();
        } finally {
            inbox.exit();
        }
        if (left != null) {
            left.clean();
        }
    }

    /**
     * Protocol lock held, at the end of the connection: a reader may still look at the ring. Gives memory that the view
     * will close, or the cleaner if the reader forgets it; null if no view is open.
     */
    MemoryRegion leaveToView() {
        if (view == null) {
            return null;
        }
        MemoryRegion region = stream.viewedRegion();
        // A holder of any part of the segment has its scope, and perhaps not the view.
        leftToView = LibraryThreads.cleaner().register(view.segment().scope(),
                () -> SetupPool.SHARED.execute(region::close));
        view = null;
        return region;
    }

    long bytes() {
        StreamMaps mapped = maps;
        return pool.bytes() + (mapped == null ? 0 : mapped.bytes);
    }

    /** Set-up pool: deregisters all buffers; the queue pair is gone. */
    void close() {
        List<DirectMemory> left;
        inbox.enter();
        try {
            ended = true;
            left = stillRead != null ? stillRead : List.of();
            stillRead = null;
        } finally {
            inbox.exit();
        }
        pool.close();
        left.forEach(DirectMemory::leave);
    }

    /**
     * Registered memory for the buffers of one connection. To register takes about half a millisecond, so what was
     * given back is used again, by this connection only.
     *
     * <p>The memory is not from the slabs of the rings: an application may still hold a view of a buffer that it
     * closed, and must not find another connection's bytes there. Each block is its own, alive as long as it is
     * reachable: from its region, until that is deregistered, or from a view.
     */
    private final class DirectPool {
        /** Blocks are made of this, and begin at a multiple of it: no page is smaller. */
        private static final long UNIT_BYTES = 4096;
        /** Most regions, and most bytes of them, that are kept for later. */
        private static final int MOST_IDLE = 16;
        private static final long MOST_IDLE_BYTES = 1 << 20;
        /** A block this much larger than needed is not used. */
        private static final int MOST_WASTE = 2;

        /** All regions of this pool; guarded by this. */
        private final Set<MemoryRegion> all = new HashSet<>();
        /** Those that are not in use; guarded by this. */
        private final List<MemoryRegion> idle = new ArrayList<>();
        /** Guarded by this. */
        private long idleBytes;
        /** Guarded by this. */
        private long bytes;
        /** Guarded by this. */
        private boolean closed;

        /** Takes at least so much memory, with any content, waiting until it is registered. */
        MemoryRegion take(int wantedBytes) throws IOException {
            MemoryRegion again = takeIdle(wantedBytes);
            return again != null ? again : SetupPool.SHARED.register(() -> make(roundUp(wantedBytes)), this::giveBack);
        }

        /** The smallest that fits, or null. */
        private synchronized MemoryRegion takeIdle(int wantedBytes) {
            MemoryRegion best = null;
            for (MemoryRegion region : idle) {
                long length = region.lengthBytes();
                boolean fits = length >= wantedBytes && length <= MOST_WASTE * roundUp(wantedBytes);
                best = fits && (best == null || length < best.lengthBytes()) ? region : best;
            }
            if (best != null) {
                idle.remove(best);
                idleBytes -= best.lengthBytes();
            }
            return best;
        }

        private static long roundUp(long bytes) {
            return (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
        }

        /** Set-up pool. */
        private MemoryRegion make(long length) throws VerbsException {
            MemorySegment memory;
            try {
                memory = Arena.ofAuto().allocate(length, UNIT_BYTES);
            } catch (OutOfMemoryError e) {
                throw new VerbsException("malloc", Errno.ENOMEM.number(), "lengthBytes=" + length, e.getMessage());
            }
            MemoryRegion region = transport.registerLocal(memory);
            if (!add(region)) {
                region.close();
            }
            return region;
        }

        private synchronized boolean add(MemoryRegion region) {
            if (!closed) {
                all.add(region);
                bytes += region.lengthBytes();
            }
            return !closed;
        }

        synchronized void giveBack(MemoryRegion region) {
            if (closed) {
                return;
            }
            if (idle.size() < MOST_IDLE && idleBytes + region.lengthBytes() <= MOST_IDLE_BYTES) {
                idle.add(region);
                idleBytes += region.lengthBytes();
            } else {
                all.remove(region);
                bytes -= region.lengthBytes();
                SetupPool.SHARED.execute(region::close);
            }
        }

        synchronized long bytes() {
            return bytes;
        }

        /** Set-up pool: closes all regions, those in use included; the queue pair is gone. */
        void close() {
            List<MemoryRegion> left;
            synchronized (this) {
                closed = true;
                left = List.copyOf(all);
                all.clear();
                idle.clear();
                bytes = 0;
            }
            left.forEach(MemoryRegion::close);
        }
    }

    /**
     * The memory of one connection that its peer may write to beside the stream. Each map has its own region and key,
     * which end when it is closed, by the application or the cleaner. Its segment lives in a shared arena that is
     * closed before: later accesses throw. A connection that ends leaves the memory to the holder of the segment.
     */
    private final class StreamMaps {
        /** Protected by the inbox's protocol lock. */
        private final MemoryMapper mapping = MemoryMapper.of(stream);
        /** Written with the protocol lock held. */
        private volatile long bytes;

        /** Protocol lock held: nothing is mapped yet. */
        StreamMaps() throws SocketException {}

        /** Makes a map; for the one writer, which tells the peer. See {@link ZeroCopyTransfers#map}. */
        DirectMemory map(int length, long offset) throws IOException {
            Entry entry = new Entry(reserve(offset, length));
            try {
                entry.region = SetupPool.SHARED.register(() -> transport.allocateRemote(length), MemoryRegion::close);
                while (!announce(entry)) {
                    awaitRoom(0);
                }
                return memory(entry, length);
            } catch (Throwable e) {
                entry.end();
                throw e;
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
            // A holder of any part of the segment has its scope.
            Cleaner.Cleanable end = LibraryThreads.cleaner().register(segment.scope(),
                    () -> SetupPool.SHARED.execute(entry::end));
            return new DirectMemory(StreamDirect.this, entry.region, segment, unused -> unmap(entry, arena, end));
        }

        /** Ends a map that no write uses any more. Throws if its segment is in use for I/O; then it stays mapped. */
        private static void unmap(Entry entry, Arena arena, Cleaner.Cleanable end) {
            arena.close();
            entry.release(); // before this returns, so that the next map finds room
            end.clean();
        }

        /** One map's part of the connection. It waits for the end of the segment, so it must not refer to it. */
        private final class Entry {
            private final int index;
            /** Null until there is some; set before others see this. */
            private MemoryRegion region;
            /** The bytes that are counted; protected by the protocol lock, as the next. */
            private long bytes;
            private boolean released;

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

            /** Ends the map, once, when its segment is closed or out of reach. */
            void end() {
                release();
                if (region != null) {
                    SetupPool.SHARED.execute(region::close);
                }
            }
        }
    }
}
