package org.rdmasockets;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import org.rdmasockets.transport.Connection;
import org.rdmasockets.transport.Direct;
import org.rdmasockets.transport.DirectMemory;
import org.rdmasockets.transport.DirectView;

/**
 * Reads into and writes from what is no byte array, by way of an array that the socket keeps for it. One reader and one
 * writer at a time, in turn with those of the streams; what one call writes stays together.
 */
final class BufferTransfers {
    /** Enough for a large message; one array for each direction that needs it. */
    private static final int STAGE_BYTES = 64 << 10;

    private final RdmaSocketImpl impl;
    /** Guarded by the turn to read. */
    private byte[] readStage;
    /** Guarded by the turn to write. */
    private byte[] writeStage;
    /** Bytes in writeStage that are not written yet; guarded by the turn to write. */
    private int staged;

    /**
     * Transfers of one socket.
     *
     * @param impl the socket
     */
    BufferTransfers(RdmaSocketImpl impl) {
        this.impl = impl;
    }

    /**
     * Reads what is there, waiting for the first byte, and moves the position.
     *
     * @param to may be written to; has room
     * @return how many bytes, -1 at the end of the stream
     * @throws IOException as reads of the stream
     */
    int read(ByteBuffer to) throws IOException {
        int count;
        if (to.hasArray()) {
            count = impl.read(to.array(), to.arrayOffset() + to.position(), to.remaining());
        } else {
            count = readStaged(to);
        }
        if (count > 0) {
            to.position(to.position() + count);
        }
        return count;
    }

    private int readStaged(ByteBuffer to) throws IOException {
        long deadlineNanos = impl.beginRead();
        try {
            int count = readIntoStage(to.remaining(), deadlineNanos);
            if (count > 0) {
                to.put(to.position(), readStage, 0, count);
            }
            return count;
        } finally {
            impl.endRead();
        }
    }

    /**
     * Reads what is there, waiting for the first byte.
     *
     * @param to may be written to by this thread; not empty
     * @return how many bytes, -1 at the end of the stream
     * @throws IOException as reads of the stream
     */
    int read(MemorySegment to) throws IOException {
        long deadlineNanos = impl.beginRead();
        try {
            int count = readIntoStage(to.byteSize(), deadlineNanos);
            if (count > 0) {
                MemorySegment.copy(readStage, 0, to, ValueLayout.JAVA_BYTE, 0, count);
            }
            return count;
        } finally {
            impl.endRead();
        }
    }

    private int readIntoStage(long most, long deadlineNanos) throws IOException {
        Connection connection = impl.readable();
        if (connection == null) {
            return -1;
        }
        if (readStage == null) {
            readStage = new byte[STAGE_BYTES];
        }
        return connection.read(readStage, 0, (int) Math.min(most, STAGE_BYTES), deadlineNanos);
    }

    /**
     * Lends what is there, waiting for the first byte.
     *
     * @return the bytes, null at the end of the stream
     * @throws IOException as reads of the stream
     */
    ReceivedBytes receive() throws IOException {
        long deadlineNanos = impl.beginRead();
        try {
            Connection connection = impl.readable();
            DirectView view = connection == null ? null : connection.direct().receive(deadlineNanos);
            return view == null ? null : new ReceivedBytes(view);
        } finally {
            impl.endRead();
        }
    }

    /**
     * Writes everything that remains in some buffers, small ones in one message, and moves their positions.
     *
     * @param from the buffers
     * @param offset index of the first
     * @param length how many
     * @return how many bytes
     * @throws IOException as writes of the stream; the positions mean nothing then
     */
    long write(ByteBuffer[] from, int offset, int length) throws IOException {
        long count = 0;
        impl.beginWrite();
        try {
            Connection connection = impl.connection();
            staged = 0;
            for (int i = offset; i < offset + length; i++) {
                count += from[i].remaining();
                write(from[i], connection);
            }
            flush(connection);
        } finally {
            impl.endWrite();
        }
        return count;
    }

    /** Large arrays go as they are; the rest is gathered. */
    private void write(ByteBuffer from, Connection connection) throws IOException {
        if (from.hasArray() && from.remaining() >= STAGE_BYTES) {
            flush(connection);
            connection.write(from.array(), from.arrayOffset() + from.position(), from.remaining());
            from.position(from.limit());
        }
        while (from.hasRemaining()) {
            int count = Math.min(from.remaining(), room(connection));
            from.get(writeStage, staged, count);
            staged += count;
        }
    }

    /**
     * Writes everything that remains, and moves the position.
     *
     * @param from a buffer
     * @return how many bytes
     * @throws IOException as writes of the stream; the position means nothing then
     */
    int write(ByteBuffer from) throws IOException {
        int count = from.remaining();
        if (from.hasArray()) {
            impl.write(from.array(), from.arrayOffset() + from.position(), count);
            from.position(from.limit());
        } else {
            write(new ByteBuffer[] {from}, 0, 1);
        }
        return count;
    }

    /**
     * Writes everything.
     *
     * @param from may be read by this thread
     * @throws IOException as writes of the stream
     */
    void write(MemorySegment from) throws IOException {
        impl.beginWrite();
        try {
            Connection connection = impl.connection();
            staged = 0;
            for (long done = 0; done < from.byteSize();) {
                int count = (int) Math.min(from.byteSize() - done, room(connection));
                MemorySegment.copy(from, ValueLayout.JAVA_BYTE, done, writeStage, staged, count);
                staged += count;
                done += count;
            }
            flush(connection);
        } finally {
            impl.endWrite();
        }
    }

    /**
     * Allocates memory to send from.
     *
     * @param bytes how much, at least 1
     * @return memory of the socket's connection
     * @throws IOException as {@link Direct#allocate}
     */
    DirectMemory allocate(int bytes) throws IOException {
        return impl.connection().direct().allocate(bytes);
    }

    /**
     * Maps memory for the peer to write to.
     *
     * @param bytes how much, at least 1
     * @param offset by which the peer names it, not negative
     * @return memory of the socket's connection
     * @throws IOException as {@link Direct#map}
     */
    DirectMemory map(int bytes, long offset) throws IOException {
        impl.beginWrite();
        try {
            return impl.connection().direct().map(bytes, offset);
        } finally {
            impl.endWrite();
        }
    }

    /**
     * Writes a part of memory that was allocated or mapped here.
     *
     * @param from memory of any socket
     * @param offset the first byte
     * @param length how many
     * @throws IOException as {@link Direct#write}
     */
    void write(DirectMemory from, int offset, int length) throws IOException {
        Direct direct = begin(from);
        try {
            direct.write(from, offset, length);
        } finally {
            end(from);
        }
    }

    /**
     * Writes a part of such memory into memory that the peer has mapped.
     *
     * @param at the peer's offset
     * @param from memory of any socket
     * @param offset the first byte
     * @param length how many
     * @throws IOException as {@link Direct#place}
     */
    void place(long at, DirectMemory from, int offset, int length) throws IOException {
        Direct direct = begin(from);
        try {
            direct.place(at, from, offset, length);
        } finally {
            end(from);
        }
    }

    /** Takes the turn to write from memory, which stays as it is until {@link #end}. */
    private Direct begin(DirectMemory from) throws IOException {
        impl.beginWrite();
        boolean begun = false;
        try {
            Direct direct = impl.connection().direct();
            from.enter(direct);
            begun = true;
            return direct;
        } finally {
            if (!begun) {
                impl.endWrite();
            }
        }
    }

    private void end(DirectMemory from) {
        try {
            from.leave();
        } finally {
            impl.endWrite();
        }
    }

    /** How much fits behind what is staged; at least one byte. */
    private int room(Connection connection) throws IOException {
        if (writeStage == null) {
            writeStage = new byte[STAGE_BYTES];
        } else if (staged == STAGE_BYTES) {
            flush(connection);
        }
        return STAGE_BYTES - staged;
    }

    private void flush(Connection connection) throws IOException {
        if (staged > 0) {
            int count = staged;
            staged = 0;
            connection.write(writeStage, 0, count);
        }
    }
}
