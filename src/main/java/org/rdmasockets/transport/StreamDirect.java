package org.rdmasockets.transport;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.stream.DirectReceiver;
import org.rdmasockets.stream.DirectSender;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * What a connection over RDMA does without copying. Made when it is first asked for, so that others need nothing of it.
 */
final class StreamDirect implements Direct {
    /** In place of the peer's offset: what is sent belongs to the stream. */
    private static final long IN_STREAM = -1;

    private final StreamTransport transport;
    private final CompletionInbox inbox;
    private final SetupPool setupPool;
    private final DirectPool pool;
    /** Protected by the inbox's protocol lock, as the next. */
    private final DirectSender sender;
    private final DirectReceiver receiver;
    private final Consumer<DirectView> endOfView = this::end;
    /** Null until something is mapped; written with the protocol lock held. */
    private volatile StreamMaps maps;
    /** The view that is open, else null; protected by the protocol lock. */
    private DirectView view;
    /** What the view has to close, because the connection has ended before; else null; likewise. */
    private Cleaner.Cleanable leftToView;
    /** What the device may read although its write has failed; null until there is some; likewise. */
    private List<DirectMemory> stillRead;
    /** The queue pair is gone; likewise. */
    private boolean ended;

    /** Protocol lock held: of a connection, without memory of its own yet. */
    StreamDirect(StreamTransport transport, SetupPool setupPool) {
        this.transport = transport;
        this.inbox = transport.inbox();
        this.setupPool = setupPool;
        this.sender = transport.stream().directSender();
        this.receiver = new DirectReceiver(transport.stream());
        this.pool = new DirectPool(setupPool, transport);
    }

    @Override
    public DirectMemory allocate(int bytes) throws IOException {
        transport.available(); // says if it is closed
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
        boolean sent = false;
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
            sent = true;
        } finally {
            if (!sent) {
                keepIfStillRead(from);
            }
        }
    }

    /**
     * Keeps memory whose write has failed until the queue pair is gone, if the device may read it until then. To
     * deregister it would break what else the queue pair does, and who gets it next would write to what is being sent.
     */
    private void keepIfStillRead(DirectMemory from) {
        from.keep(); // without the protocol lock: who closes a map takes both, the other way round
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

    /** Waits until a writer can go on, who has done so many bytes. */
    void awaitRoom(int done) throws InterruptedIOException {
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
            maps = maps != null ? maps : new StreamMaps(this, transport, setupPool);
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
                int count = receiver.view();
                if (count != 0) {
                    view = count < 0 ? null : DirectView.of(receiver.viewedRegion().segment()
                            .asSlice(receiver.viewedOffset(), count), endOfView);
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
            receiver.endView();
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
        MemoryRegion region = receiver.viewedRegion();
        SetupPool closer = setupPool;
        // Who has any part of the segment has its scope, and perhaps not the view.
        leftToView = Forgotten.whenForgotten(view.segment().scope(), () -> closer.execute(region::close));
        view = null;
        return region;
    }

    /** How much memory is registered for buffers and maps. */
    long bytes() {
        StreamMaps mapped = maps;
        return pool.bytes() + (mapped == null ? 0 : mapped.bytes());
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
}
