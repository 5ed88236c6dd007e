package org.rdmasockets.rpc.call;

import java.io.IOException;
import java.net.InetSocketAddress;

/** A connection that carries frames, in order and once each. Any thread may send; one thread at a time receives. */
public interface Carrier extends AutoCloseable {
    /**
     * Sends a frame. Waits while the peer takes nothing, until the carrier's limit for that is over.
     *
     * @param frame what to send; not kept
     * @throws IOException {@code InterruptedIOException} if this virtual thread was interrupted and nothing was sent,
     *         any other if the connection is over
     */
    void send(Frame frame) throws IOException;

    /**
     * Waits for the next frame.
     *
     * @param deadlineNanos by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none
     * @return the frame
     * @throws IOException {@code SocketTimeoutException} if none has come, {@code InterruptedIOException} if this
     *         virtual thread was interrupted, any other if the connection is over
     */
    Frame receive(long deadlineNanos) throws IOException;

    /**
     * What leads to the peer.
     *
     * @return the name of the device or protocol
     */
    String transport();

    /**
     * This end.
     *
     * @return address and port
     */
    InetSocketAddress localAddress();

    /**
     * The other end.
     *
     * @return address and port
     */
    InetSocketAddress remoteAddress();

    /** Ends the connection: who sends or receives is told so. Idempotent, does not block. */
    @Override
    void close();

    /** Where carriers come from. */
    interface Listener extends AutoCloseable {
        /**
         * Waits for the next connection.
         *
         * @return the carrier
         * @throws IOException if there will be none
         */
        Carrier accept() throws IOException;

        /**
         * Where this listens.
         *
         * @return address and port
         */
        InetSocketAddress localAddress();

        /** Stops listening. Connections go on. */
        @Override
        void close();
    }
}
