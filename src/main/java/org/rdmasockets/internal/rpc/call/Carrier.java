package org.rdmasockets.internal.rpc.call;

import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * A connection that carries frames, in order and once each. Any thread may send; one thread at a time receives.
 * Deadlines are of {@code System.nanoTime}, {@code Long.MAX_VALUE} for none.
 */
public interface Carrier extends AutoCloseable {
    /**
     * Sends a frame, which is not kept. Waits while the peer takes nothing, until the deadline or the carrier's limit
     * for that is over. If another thread is sending, the frame may be held instead: {@link #flush} has to follow.
     *
     * @throws IOException {@code SocketTimeoutException} if the deadline is over, {@code InterruptedIOException} if
     *         this virtual thread was interrupted, and nothing was sent; any other if the connection is over:
     *         {@link NotSentException} if it was so before
     */
    void send(Frame frame, long deadlineNanos) throws IOException;

    /**
     * Waits for the next frame.
     *
     * @throws IOException {@code SocketTimeoutException} if none has come, or after {@link #wakeup},
     *         {@code InterruptedIOException} if this virtual thread was interrupted, else if the connection is over
     */
    Frame receive(long deadlineNanos) throws IOException;

    /** Ends the wait of the thread in {@link #receive}, or of the next one that would wait there. */
    void wakeup();

    /**
     * Takes the next frame without waiting, of the last message, or {@code further} of one come since; null for none.
     * Throws as {@link #receive}, without its wait.
     */
    default Frame poll(boolean further) throws IOException {
        return null;
    }

    /** Holds a frame to be sent in one message with others, behind those that are held; false if it has no room. */
    default boolean hold(Frame frame) {
        return false;
    }

    /** Whether anything is held, and not sent yet. */
    default boolean holds() {
        return false;
    }

    /**
     * Sends what is held, unless another thread is sending: that has to flush when it has done so. Fails as
     * {@link #send}: what was not sent is held still.
     */
    default void flush(long deadlineNanos) throws IOException {
        // Nothing is held.
    }

    /** Both ends have greeted: whether the peer takes parts of messages, and where those go that it sends. */
    default void useParts(boolean peerTakesParts, ArrivingParts arriving) {
        // Each message goes as a whole.
    }

    /** Whether the message of a frame goes in parts, unless the deadline of its sender is over at once. */
    default boolean goesInParts(Frame frame) {
        return false;
    }

    /** The name of the device or protocol that leads to the peer. */
    String transport();

    /** This end. */
    InetSocketAddress localAddress();

    /** The other end. */
    InetSocketAddress remoteAddress();

    /** The peer that a server counts the connection with: its address, as {@link Shares} counts that. */
    default Object countedAs() {
        return Shares.address(remoteAddress());
    }

    /** Ends the connection: threads that send or receive are told so. Idempotent, does not block. */
    @Override
    void close();

    /** The connection was over before anything of a frame was sent: the peer never sees it. */
    final class NotSentException extends IOException {
        private static final long serialVersionUID = 1L;

        /** For a connection that is over for a reason. */
        public NotSentException(String reason) {
            super(reason);
        }
    }

    /** Where carriers come from. */
    interface Listener extends AutoCloseable {
        /** Waits for the next connection; throws {@code IOException} if there will be none. */
        Carrier accept() throws IOException;

        /** Where this listens. */
        InetSocketAddress localAddress();

        /** Packets that were dropped because they were no good, or there was no room; 0 where there are none. */
        default long dropped() {
            return 0;
        }

        /** Stops listening. Accepted connections go on, all others end. */
        @Override
        void close();
    }
}
