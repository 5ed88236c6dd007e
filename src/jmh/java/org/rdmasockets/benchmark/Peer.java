package org.rdmasockets.benchmark;

import java.io.Closeable;
import java.io.IOException;

/** The difference between contenders: how a server listens and a client connects. */
interface Peer extends Closeable {
    /** Begins to listen, in the server's process. */
    Listener listen() throws IOException;

    /** Connects to what {@link Listener#address()} said, in the client's process. */
    Link connect(String address) throws IOException;

    @Override
    default void close() throws IOException {
        // Most hold nothing.
    }

    /** A server's ear. */
    interface Listener extends Closeable {
        String address();

        Link accept() throws IOException;
    }
}
