package org.rdmasockets.benchmark;

import java.io.Closeable;
import java.io.IOException;

/** One end of a connection that carries bytes, whatever it is made of. One thread writes and one reads at a time. */
interface Link extends Closeable {
    /** Writes all of a message. */
    void write(byte[] message) throws IOException;

    /**
     * Reads what there is, waiting for the first byte.
     *
     * @return how many bytes; -1 at the end
     */
    int read(byte[] into, int offset, int length) throws IOException;

    /**
     * Reads a whole message.
     *
     * @return false if the other end closed before it
     */
    default boolean fill(byte[] message) throws IOException {
        for (int done = 0; done < message.length;) {
            int count = read(message, done, message.length - done);
            if (count < 0) {
                return false;
            }
            done += count;
        }
        return true;
    }

    /** Sends a message and reads one as long. */
    default void exchange(byte[] message) throws IOException {
        write(message);
        if (!fill(message)) {
            throw new IOException("the other end closed");
        }
    }
}
