package org.rdmasockets.internal.socket;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.connection.Connection;
import org.rdmasockets.internal.connection.DirectMemory;
import org.rdmasockets.internal.connection.DirectView;
import org.rdmasockets.internal.connection.ZeroCopyTransfers;

/**
 * Reads into and writes from buffers, memory segments and memory of the connection, where needed by way of an array
 * that the socket keeps. One reader and one writer at a time, in turn with those of the streams; what one call writes
 * stays together.
 *
 * <p>The bytes pass a stream of {@code java.net.Socket}, because only there the JDK makes its JFR events: the thread
 * that has the turn calls it, and the stream of {@link RdmaSocketImpl}, which it calls, comes back here. Over TCP the
 * socket of TCP makes the events.
 */
public final class BufferTransfers {
    /** Enough for a large message; one array for each direction that needs it. */
    private static final int STAGE_BYTES = 64 << 10;
    /** Passes the streams where memory of the connection is meant. */
    private static final byte[] MEMORY = {};

    private final Socket socket;
    private final RdmaSocketImpl impl;
    /** Null until it is needed; guarded by the turn to read, as what follows. */
    private InputStream in;
    /** Has the turn and calls {@code in}, else null. Other threads look, too, and never find themselves. */
    private Thread reader;
    private long readDeadlineNanos;
    private byte[] readStage;
    /** The view that {@code in} has read for {@link #MEMORY}; null between reads. */
    private DirectView lent;
    /** Null until it is needed; guarded by the turn to write, as what follows. */
    private OutputStream out;
    /** Has the turn and calls {@code out}, else null; as {@code reader}. */
    private Thread writer;
    private byte[] writeStage;
    /** Bytes in writeStage that are not written yet. */
    private int staged;
    /**
     * The memory that {@code out} writes, the transfers that write it, and the offset in the peer's map: negative for
     * the stream.
     */
    private DirectMemory memory;
    private ZeroCopyTransfers direct;
    private long placedAt;

    BufferTransfers(Socket socket, RdmaSocketImpl impl) {
        this.socket = socket;
        this.impl = impl;
    }

    // Through the streams of java.net.Socket.

    /** Reads through the stream; the caller has the turn to read. */
    private int pass(byte[] to, int offset, int most) throws IOException {
        if (in == null && !opens()) {
            return readInTurn(to, offset, most);
        }
        reader = Thread.currentThread();
        try {
            return in.read(to, offset, most);
        } finally {
            reader = null;
        }
    }

    /**
     * False where TCP makes the events, or the direction has ended: the connection then throws what a channel throws.
     */
    private boolean opens() throws IOException {
        try {
            in = isOverTcp() ? null : socket.getInputStream();
        } catch (SocketException e) {
            return false;
        }
        return in != null;
    }

    private boolean isOverTcp() throws SocketException {
        return impl.connection().transport().equals(Transport.TCP.name());
    }

    /** Whether this thread has the turn to read and comes through the stream: it goes on with {@link #readInTurn}. */
    boolean isReader() {
        return reader == Thread.currentThread();
    }

    /** With the turn: reads what is there, or lends it for {@link #MEMORY}; -1 at the end of the stream. */
    int readInTurn(byte[] to, int offset, int most) throws IOException {
        Connection connection = impl.readable();
        if (connection == null) {
            return -1;
        }
        if (to != MEMORY) {
            return connection.read(to, offset, most, readDeadlineNanos);
        }
        lent = connection.direct().receive(readDeadlineNanos);
        return lent == null ? -1 : (int) Math.min(lent.segment().byteSize(), most);
    }

    /** Writes through the stream; the caller has the turn to write. */
    private void passWrite(byte[] from, int offset, int length) throws IOException {
        if (out == null && !opensOut()) {
            writeInTurn(from, offset, length);
            return;
        }
        writer = Thread.currentThread();
        try {
            out.write(from, offset, length);
        } finally {
            writer = null;
        }
    }

    private boolean opensOut() throws IOException {
        try {
            out = isOverTcp() ? null : socket.getOutputStream();
        } catch (SocketException e) {
            return false;
        }
        return out != null;
    }

    /** Whether this thread has the turn to write and comes through the stream: it goes on with {@link #writeInTurn}. */
    boolean isWriter() {
        return writer == Thread.currentThread();
    }

    /** With the turn: writes bytes, or for {@link #MEMORY} what the caller has set, until everything is taken. */
    void writeInTurn(byte[] from, int offset, int length) throws IOException {
        if (from != MEMORY) {
            impl.connection().write(from, offset, length);
        } else if (placedAt < 0) {
            direct.write(memory, offset, length);
        } else {
            direct.place(placedAt, memory, offset, length);
        }
    }

    // Reading.

    /** Reads what is there, waiting for the first byte, and moves the position; -1 at the end of the stream. */
    public int read(ByteBuffer to) throws IOException {
        long deadlineNanos = impl.beginRead();
        try {
            readDeadlineNanos = deadlineNanos;
            int count;
            if (to.hasArray()) {
                count = pass(to.array(), to.arrayOffset() + to.position(), to.remaining());
            } else {
                count = passStage(to.remaining());
                to.put(to.position(), readStage, 0, Math.max(count, 0));
            }
            to.position(to.position() + Math.max(count, 0));
            return count;
        } finally {
            impl.endRead();
        }
    }

    /** Reads what is there, waiting for the first byte; -1 at the end of the stream. The segment is not empty. */
    public int read(MemorySegment to) throws IOException {
        long deadlineNanos = impl.beginRead();
        try {
            readDeadlineNanos = deadlineNanos;
            int count = passStage(to.byteSize());
            MemorySegment.copy(readStage, 0, to, ValueLayout.JAVA_BYTE, 0, Math.max(count, 0));
            return count;
        } finally {
            impl.endRead();
        }
    }

    private int passStage(long most) throws IOException {
        if (readStage == null) {
            readStage = new byte[STAGE_BYTES];
        }
        return pass(readStage, 0, (int) Math.min(most, STAGE_BYTES));
    }

    /** Lends what is there, waiting for the first byte; null at the end of the stream. */
    public DirectView receive() throws IOException {
        long deadlineNanos = impl.beginRead();
        try {
            readDeadlineNanos = deadlineNanos;
            return pass(MEMORY, 0, Integer.MAX_VALUE) < 0 ? null : lent;
        } finally {
            lent = null;
            impl.endRead();
        }
    }

    // Writing.

    /** Writes all that remains in some buffers, small ones in one message; positions mean nothing if it throws. */
    public long write(ByteBuffer[] from, int offset, int length) throws IOException {
        long count = 0;
        impl.beginWrite();
        try {
            impl.connection();
            staged = 0;
            for (int i = offset; i < offset + length; i++) {
                count += from[i].remaining();
                gather(from[i]);
            }
            flush();
        } finally {
            impl.endWrite();
        }
        return count;
    }

    /** Large arrays go as they are; the rest is gathered. */
    private void gather(ByteBuffer from) throws IOException {
        if (from.hasArray() && from.remaining() >= STAGE_BYTES) {
            flush();
            passWrite(from.array(), from.arrayOffset() + from.position(), from.remaining());
            from.position(from.limit());
        }
        while (from.hasRemaining()) {
            int count = Math.min(from.remaining(), room());
            from.get(writeStage, staged, count);
            staged += count;
        }
    }

    /** Writes everything that remains, and moves the position, which means nothing if it throws. */
    public int write(ByteBuffer from) throws IOException {
        if (!from.hasArray()) {
            return (int) write(new ByteBuffer[] {from}, 0, 1);
        }
        int count = from.remaining();
        impl.beginWrite();
        try {
            passWrite(from.array(), from.arrayOffset() + from.position(), count);
            from.position(from.limit());
        } finally {
            impl.endWrite();
        }
        return count;
    }

    /** Writes all of a segment. */
    public void write(MemorySegment from) throws IOException {
        impl.beginWrite();
        try {
            impl.connection();
            staged = 0;
            for (long done = 0; done < from.byteSize();) {
                int count = (int) Math.min(from.byteSize() - done, room());
                MemorySegment.copy(from, ValueLayout.JAVA_BYTE, done, writeStage, staged, count);
                staged += count;
                done += count;
            }
            flush();
        } finally {
            impl.endWrite();
        }
    }

    /** How much fits behind what is staged; at least one byte. */
    private int room() throws IOException {
        if (writeStage == null) {
            writeStage = new byte[STAGE_BYTES];
        } else if (staged == STAGE_BYTES) {
            flush();
        }
        return STAGE_BYTES - staged;
    }

    private void flush() throws IOException {
        if (staged > 0) {
            int count = staged;
            staged = 0;
            passWrite(writeStage, 0, count);
        }
    }

    // Memory of the connection.

    /**
     * Allocates at least 1 byte of memory of the socket's connection to send from, as
     * {@link ZeroCopyTransfers#allocate}.
     */
    public DirectMemory allocate(int bytes) throws IOException {
        return impl.connection().direct().allocate(bytes);
    }

    /** Maps memory for the peer to write to at an offset that is not negative, as {@link ZeroCopyTransfers#map}. */
    public DirectMemory map(int bytes, long offset) throws IOException {
        impl.beginWrite();
        try {
            return impl.connection().direct().map(bytes, offset);
        } finally {
            impl.endWrite();
        }
    }

    /** Writes a part of memory that was allocated or mapped by any socket, and stays as it is meanwhile. */
    public void write(DirectMemory from, int offset, int length) throws IOException {
        place(-1, from, offset, length);
    }

    /** Writes a part of such memory into what the peer has mapped, or into the stream if the offset is negative. */
    public void place(long at, DirectMemory from, int offset, int length) throws IOException {
        impl.beginWrite();
        try {
            direct = impl.connection().direct();
            from.enter(direct);
            try {
                memory = from;
                placedAt = at;
                passWrite(MEMORY, offset, length);
            } finally {
                memory = null;
                from.leave();
            }
        } finally {
            impl.endWrite();
        }
    }

    /** Refuses what a channel refuses before it reads; {@code readOnly} if its target is. */
    public static void ensureUsable(Socket socket, boolean readOnly) throws ClosedChannelException {
        if (readOnly) {
            throw new IllegalArgumentException("Read-only buffer");
        }
        ensureConnected(socket);
    }

    /** Refuses what a channel refuses before it writes. */
    public static void ensureWritable(Socket socket) throws ClosedChannelException {
        ensureConnected(socket);
        if (socket.isOutputShutdown()) {
            throw new ClosedChannelException();
        }
    }

    /** Refuses a socket that is closed or not connected. */
    public static void ensureConnected(Socket socket) throws ClosedChannelException {
        if (socket.isClosed()) {
            throw new ClosedChannelException();
        }
        if (!socket.isConnected()) {
            throw new NotYetConnectedException();
        }
    }

    /** Called before a byte is taken from the peer: a byte that cannot be stored would be lost. */
    public static void ensureAccess(MemorySegment segment) {
        if (!segment.isAccessibleBy(Thread.currentThread())) {
            throw new WrongThreadException("the segment belongs to another thread");
        }
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException("the segment's arena is closed");
        }
    }

    /** The channel's exception for a stream's; an interrupt closes the socket, as it does for a stream. */
    public static IOException ofChannel(Socket socket, IOException e) {
        boolean timedOut = e instanceof SocketTimeoutException;
        // The streams of java.net have closed this already and say so.
        boolean interrupted = e instanceof InterruptedIOException || "Closed by interrupt".equals(e.getMessage());
        if (interrupted && !timedOut && Thread.currentThread().isInterrupted()) {
            closeQuietly(socket, e);
            return because(new ClosedByInterruptException(), e);
        }
        return socket.isClosed() && !timedOut ? because(new AsynchronousCloseException(), e) : e;
    }

    private static void closeQuietly(Socket socket, IOException reason) {
        try {
            socket.close();
        } catch (IOException e) {
            reason.addSuppressed(e);
        }
    }

    private static IOException because(IOException e, IOException cause) {
        e.initCause(cause);
        return e;
    }
}
