package org.rdmasockets.internal.rsockets;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.MemoryRegion;

/** Bytes that have arrived, in their order, until the application has read them; and the reader's look at them. */
abstract class Received {
    /** Arrived and not yet read. */
    int unread;
    /** Of these, the bytes at the beginning that the reader looks at in place. */
    private int viewed;
    /** True once the application will not read: the place of bytes that arrive is free at once. */
    private boolean discarding;
    /** Bytes were thrown away unread. */
    private boolean wasted;

    /** How much of what is unread lies in one piece from {@link #viewedOffset()} on; 0 if nothing is there. */
    abstract int piece();

    /** Counts so much of {@link #piece} as read. */
    abstract void skip(int bytes);

    /** Where the oldest bytes are. */
    abstract MemoryRegion viewedRegion();

    /** Where they begin in their region. */
    abstract long viewedOffset();

    /** Counts bytes that have arrived; false if the application will not read them. */
    final boolean add(int bytes) {
        unread += bytes;
        if (discarding) {
            discard();
        }
        return !discarding;
    }

    /** How much can be read, besides what the reader looks at. */
    final int available() {
        return unread - viewed;
    }

    /** Whether some of what has arrived was neither read nor looked at. */
    final boolean isUnread() {
        return wasted || available() > 0;
    }

    /** Reads what is there, perhaps nothing; not while the reader looks at what is there. */
    int read(byte[] bytes, int offset, int length) {
        ensureNoView();
        int wanted = Math.min(length, unread);
        for (int done = 0; done < wanted;) {
            int piece = Math.min(wanted - done, piece());
            MemorySegment.copy(viewedRegion().segment(), ValueLayout.JAVA_BYTE, viewedOffset(), bytes, offset + done,
                    piece);
            skip(piece);
            done += piece;
        }
        return wanted;
    }

    /** Refuses to read or to look while the reader looks at something. */
    final void ensureNoView() {
        if (viewed > 0) {
            throw new IllegalStateException(StreamConnection.VIEW_OPEN);
        }
    }

    /** Lets the reader look at a {@link #piece}, perhaps of 0 bytes, until {@link #endView}; not twice at a time. */
    final int view() {
        ensureNoView();
        viewed = piece();
        return viewed;
    }

    /** Counts what the reader has looked at as read. */
    final void endView() {
        int bytes = viewed;
        viewed = 0;
        skip(bytes);
        if (discarding) {
            discard();
        }
    }

    /**
     * Throws away all unread bytes and all that will come; while the reader looks at some, from {@link #endView} on.
     */
    final void discard() {
        discarding = true;
        wasted |= available() > 0;
        while (unread > 0 && viewed == 0) {
            skip(piece());
        }
    }
}
