package org.rdmasockets.transport;

import java.io.IOException;
import java.io.InterruptedIOException;
import org.rdmasockets.completion.CompletionInbox;
import org.rdmasockets.completion.Role;
import org.rdmasockets.completion.Wait;
import org.rdmasockets.stream.DirectSender;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * What a connection over RDMA does without the send ring. Made when it is first asked for, so that others need nothing
 * of it.
 */
final class StreamDirect implements Direct {
    private final StreamTransport transport;
    private final CompletionInbox inbox;
    private final DirectPool pool;
    /** Protected by the inbox's protocol lock. */
    private final DirectSender sender;

    /** Protocol lock held: of a connection, without memory of its own yet. */
    StreamDirect(StreamTransport transport, SetupPool setupPool, Resources resources) {
        this.transport = transport;
        this.inbox = resources.inbox();
        this.sender = resources.stream().direct();
        this.pool = new DirectPool(setupPool, resources);
    }

    @Override
    public DirectMemory allocate(int bytes) throws IOException {
        transport.available(); // says if it is closed
        MemoryRegion region = pool.take(bytes);
        return new DirectMemory(this, region, region.segment().asSlice(0, bytes), pool::giveBack);
    }

    @Override
    public void write(DirectMemory from, int offset, int length) throws IOException {
        int done = 0;
        while (done < length) {
            int count = tryWrite(from.region(), offset + done, length - done);
            done += count;
            if (count == 0) {
                await(done);
            }
        }
        while (!isSent()) {
            await(done);
        }
    }

    private void await(int done) throws InterruptedIOException {
        if (inbox.await(Role.WRITER, Long.MAX_VALUE) == Wait.INTERRUPTED) {
            InterruptedIOException interrupted = NetErrors.interrupted();
            interrupted.bytesTransferred = done;
            throw interrupted;
        }
    }

    private int tryWrite(MemoryRegion from, int offset, int length) throws IOException {
        inbox.enter();
        try {
            transport.ensureOpen();
            int count = sender.write(from, offset, length);
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

    /** How much memory is registered for buffers. */
    long bytes() {
        return pool.bytes();
    }

    /** Set-up pool: deregisters all buffers; the queue pair is gone. */
    void close() {
        pool.close();
    }
}
