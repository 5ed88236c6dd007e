package org.rdmasockets.stream;

import org.rdmasockets.verbs.MemoryRegion;

/** Bytes that have arrived, in their order, until the application has read them. */
interface Received {
    /** How much can be read, besides what the reader looks at. */
    int available();

    /**
     * Reads what is there.
     *
     * @param bytes where to
     * @param offset the first
     * @param length most bytes
     * @return how many bytes were read, perhaps 0
     * @throws IllegalStateException if the reader looks at what is there
     */
    int read(byte[] bytes, int offset, int length);

    /**
     * Lets the reader look at what is there, as far as it lies in one piece. It stays there until {@link #endView}.
     *
     * @return how many bytes, perhaps 0; they begin at {@link #viewedOffset()} of {@link #viewedRegion()}
     * @throws IllegalStateException if the reader does so already
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
