package org.rdmasockets.rpc.call;

import java.io.IOException;
import java.net.InetSocketAddress;

/** A connection that carries frames, in order and once each. Any thread may send; one thread at a time receives. */
public interface Carrier extends AutoCloseable {
    /**
     * Sends a frame. Waits while the peer takes nothing, until the carrier's limit for that is over. If another thread
     * is sending, it may be held instead: {@link #flush} has to follow.
     *
     * @param frame what to send; not kept
     * @param deadlineNanos of the wait, by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none
     * @throws IOException {@code SocketTimeoutException} if the deadline is over and nothing was sent,
     *         {@code InterruptedIOException} if this virtual thread was interrupted and nothing was sent, any other if
     *         the connection is over
     */
    void send(Frame frame, long deadlineNanos) throws IOException;

    /**
     * Waits for the next frame.
     *
     * @param deadlineNanos by {@code System.nanoTime}, {@code Long.MAX_VALUE} for none
     * @return the frame
     * @throws IOException {@code SocketTimeoutException} if none has come, or after {@link #wakeup},
     *         {@code InterruptedIOException} if this virtual thread was interrupted, any other if the connection is
     *         over
     */
    Frame receive(long deadlineNanos) throws IOException;

    /** Sends the thread away that waits in {@link #receive}, or the next one that would wait there. */
    void wakeup();

    /**
     * Takes the next frame without waiting, if it has come in one message with the last one.
     *
     * @param further whether a message may be looked for that has come since
     * @return the frame, null for none
     * @throws IOException as {@link #receive}, without a wait
     */
    default Frame poll(boolean further) throws IOException {
        return null;
    }

    /**
     * Holds a frame to be sent in one message with others, behind those that are held already.
     *
     * @param frame which frame; not kept
     * @return false if there is no room: it is not held
     */
    default boolean hold(Frame frame) {
        return false;
    }

    /**
     * Tells whether anything is held.
     *
     * @return true until it is sent
     */
    default boolean holds() {
        return false;
    }

    /**
     * Sends what is held, unless another thread is sending: that has to flush when it has done so.
     *
     * @param deadlineNanos as of {@link #send}
     * @throws IOException as {@link #send}: what was not sent is held still
     */
    default void flush(long deadlineNanos) throws IOException {
        // Nothing is held.
    }

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

        /**
         * Datagrams that strangers and damage have cost.
         *
         * @return packets that were dropped because they were no good, or there was no room; 0 where there are none
         */
        default long dropped() {
            return 0;
        }

        /** Stops listening. Connections go on, but for those that nobody has accepted. */
        @Override
        void close();
    }
}
