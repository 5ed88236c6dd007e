package org.rdmasockets;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.connection.DirectView;

/**
 * Bytes that {@link RdmaSocket#receive} lends, where the peer has put them. Only the thread that received them may look
 * at them, and close them: they count as read then. Until that, the socket reads nothing else. A socket that is closed
 * meanwhile leaves them as they are.
 *
 * <p>A peer that does not keep to the protocol may change them at any time: copy first what is checked and used later.
 *
 * @since 0.1
 */
public final class ReceivedBytes implements AutoCloseable {
    private final DirectView view;

    ReceivedBytes(DirectView view) {
        this.view = view;
    }

    /**
     * The bytes: what has arrived, up to where the peer's writes go on elsewhere in memory. Where that is has nothing
     * to do with messages. {@code segment().asByteBuffer()} gives them as a buffer.
     *
     * @return a read-only segment of at least one byte; every access throws {@code IllegalStateException} after
     *         {@link #close}, and {@code WrongThreadException} in other threads
     */
    public MemorySegment segment() {
        return view.segment();
    }

    /**
     * Says that the bytes were read. Idempotent.
     *
     * @throws WrongThreadException if another thread has received them
     */
    @Override
    public void close() {
        view.close();
    }
}
