package org.rdmasockets.internal.rsockets;

import java.net.SocketException;
import org.rdmasockets.verbs.MemoryRegion;

/**
 * Lends the reader what has arrived, where it is: {@link #view}, look, {@link #endView}. Nothing else is read
 * meanwhile, and the chunk is neither lent to the peer again nor retired. A peer that breaks the protocol may
 * change the bytes all the same, at any time: it has a key for them. Threads: as the connection's.
 */
public final class DirectReceiver {
    /** The message of the exception that a read throws while something is lent. */
    public static final String STILL_OPEN = "what was received last is still open: close it before the next read";

    private final StreamConnection connection;

    /** Of a connection. */
    public DirectReceiver(StreamConnection connection) {
        this.connection = connection;
    }

    /** Lends what is there, up to the end of a chunk: 0 bytes if nothing is there now, -1 at the end of the stream. */
    public int view() throws SocketException {
        connection.ensureTrusted();
        if (connection.isAborted()) {
            return -1;
        }
        int count = connection.carrier().received().view();
        return count > 0 ? count : connection.whyNothing();
    }

    /** Where the bytes are: a region that must not be closed before {@link #endView}. */
    public MemoryRegion viewedRegion() {
        return connection.carrier().received().viewedRegion();
    }

    /** Where they begin: bytes from the beginning of {@link #viewedRegion()}. */
    public long viewedOffset() {
        return connection.carrier().received().viewedOffset();
    }

    /** The bytes were read, and the peer may use their place again. */
    public void endView() {
        connection.carrier().received().endView();
        connection.sendControls();
    }
}
