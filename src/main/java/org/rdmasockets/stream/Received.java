package org.rdmasockets.stream;

import org.rdmasockets.verbs.MemoryRegion;

/** Bytes that have arrived, in their order, until the application has read them. */
interface Received {
    /** How much can be read, besides what the reader looks at. */
    int available();

    /** Reads what is there, perhaps nothing; not while the reader looks at what is there. */
    int read(byte[] bytes, int offset, int length);

    /**
     * Lets the reader look at what is there, as far as it lies in one piece from {@link #viewedOffset()} of
     * {@link #viewedRegion()}; perhaps 0 bytes. It stays there until {@link #endView}; not while the reader does so
     * already.
     */
    int view();

    /** Where the bytes are that the reader looks at. */
    MemoryRegion viewedRegion();

    /** Where they begin in their region. */
    long viewedOffset();

    /** Counts what the reader has looked at as read. */
    void endView();

    /** Throws away what is there and what will come, as soon as nobody looks at it. */
    void discard();
}
