package org.rdmasockets.internal.rsockets;

/** One end of a simulated connection with its application: it writes and reads some bytes and closes. */
interface StreamPeer {
    /** When an application ends which direction. */
    enum Ending {
        /** Shuts its output when all is written, reads to the end, closes. */
        HALF_CLOSE,
        /** Writes all, reads to the end, closes. */
        WAIT_FOR_END,
        /** Closes when all is written, whatever comes from the peer. */
        CLOSE
    }

    /**
     * The plan of an application.
     *
     * @param bytes how many it writes
     * @param mostPerCall most bytes of one write or read
     * @param ending how it closes
     */
    record Plan(int bytes, int mostPerCall, Ending ending) {
    }

    /** The private data for the other end. */
    ConnectData localData();

    /** Posts receives. */
    void prepare() throws Exception;

    /** The connection is made. */
    void start(ConnectData peer) throws Exception;

    /** The application does something, if it can; true if anything changed. */
    boolean act() throws Exception;

    /** A completion or event is delivered, if this end takes them without being asked; true if one was. */
    boolean deliver();

    /** True when all is written, read and closed. */
    boolean isDone();

    /** How many bytes this end's application has written. */
    long written();

    /** How many bytes this end's application has read; each was checked. */
    long read();

    /** True if the application saw the end of the stream. */
    boolean sawEnd();

    /** The byte at a position of a stream. */
    static byte byteAt(long seed, long position) {
        long mixed = (position + seed) * 0x9E3779B97F4A7C15L;
        return (byte) (mixed >>> 56);
    }

    /** Fills in a piece of a stream. */
    static void fill(byte[] bytes, int offset, int length, long seed, long position) {
        for (int i = 0; i < length; i++) {
            bytes[offset + i] = byteAt(seed, position + i);
        }
    }

    /** Checks a piece of a stream. */
    static void verify(byte[] bytes, int length, long seed, long position) {
        for (int i = 0; i < length; i++) {
            if (bytes[i] != byteAt(seed, position + i)) {
                throw new AssertionError("wrong byte at position " + (position + i));
            }
        }
    }
}
