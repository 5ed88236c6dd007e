package org.rdmasockets.transport;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import org.rdmasockets.stream.DirectReceiver;

/** The same over TCP, where everything is copied. */
final class TcpDirect implements Direct {
    /** Enough for a large message. */
    private static final int STAGE_BYTES = 64 << 10;

    private final TcpConnection connection;
    /** The writer's; null until it is needed. */
    private byte[] writeStage;
    /** The reader's, likewise. */
    private byte[] readStage;
    /** What views look at, one after the other; likewise. */
    private MemorySegment block;
    /** The view that is open, else null; one reader at a time writes it. */
    private volatile DirectView view;

    /** Of a connection. */
    TcpDirect(TcpConnection connection) {
        this.connection = connection;
    }

    @Override
    public DirectMemory allocate(int bytes) throws IOException {
        connection.available(); // says if it is closed
        try {
            return new DirectMemory(this, null, Arena.ofAuto().allocate(bytes), region -> { });
        } catch (OutOfMemoryError e) {
            throw new SocketException("no memory for a buffer of " + bytes + " bytes: " + e.getMessage(), e);
        }
    }

    @Override
    public void write(DirectMemory from, int offset, int length) throws IOException {
        if (writeStage == null) {
            writeStage = new byte[STAGE_BYTES];
        }
        MemorySegment source = from.memory();
        for (int done = 0; done < length;) {
            int count = Math.min(length - done, STAGE_BYTES);
            MemorySegment.copy(source, ValueLayout.JAVA_BYTE, offset + done, writeStage, 0, count);
            connection.write(writeStage, 0, count);
            done += count;
        }
    }

    @Override
    public DirectView receive(long deadlineNanos) throws IOException {
        if (readStage == null) {
            readStage = new byte[STAGE_BYTES];
            block = Arena.ofAuto().allocate(STAGE_BYTES);
        }
        int count = connection.read(readStage, 0, STAGE_BYTES, deadlineNanos);
        if (count < 0) {
            return null;
        }
        Arena arena = Arena.ofConfined();
        MemorySegment bytes = DirectView.keeping(arena, block.asSlice(0, count));
        MemorySegment.copy(readStage, 0, bytes, ValueLayout.JAVA_BYTE, 0, count);
        view = new DirectView(arena, bytes.asReadOnly(), ended -> view = null);
        return view;
    }

    /** As over RDMA: one view at a time, and no other reads meanwhile. */
    void ensureNoView() {
        if (view != null) {
            throw new IllegalStateException(DirectReceiver.STILL_OPEN);
        }
    }

    @Override
    public DirectMemory map(int bytes, long offset) throws IOException {
        throw noMaps();
    }

    @Override
    public void place(long at, DirectMemory from, int offset, int length) throws IOException {
        throw noMaps();
    }

    private static SocketException noMaps() {
        return new SocketException("No memory can be mapped over TCP; the option TRANSPORT tells why this is TCP, and"
                + " can force another transport");
    }
}
