package org.rdmasockets.transport;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;

/** The same over TCP, where everything is copied. */
final class TcpDirect implements Direct {
    /** Enough for a large message. */
    private static final int STAGE_BYTES = 64 << 10;

    private final TcpConnection connection;
    /** The writer's; null until it is needed. */
    private byte[] writeStage;

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
}
