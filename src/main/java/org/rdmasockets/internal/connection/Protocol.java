package org.rdmasockets.internal.connection;

import java.io.IOException;
import org.rdmasockets.internal.waiting.CompletionClient;
import org.rdmasockets.internal.waiting.ConnectionRole;
import org.rdmasockets.verbs.ConnectionParameters;

/**
 * The traffic of a connection: the byte stream of rsockets, or the messages of endpoints. The {@link VerbsConnection}
 * begins and ends it, and takes the events that are no completions. Called with the protocol lock unless said
 * otherwise; must not block.
 */
public interface Protocol extends CompletionClient {
    /** The connection that this goes over. */
    VerbsConnection connection();

    /**
     * Set-up pool: makes memory, inbox and queue pair, ready to connect or to accept, with receives posted. Throws if
     * the device refuses; {@link #end} gives back what was made then.
     */
    void allocate(ConnectionRole side) throws IOException;

    /** The parameters for the peer: private data, reads at once and retries; the same each time. */
    ConnectionParameters parameters();

    /** Whether the connection manager tells the peer at once that this has failed; else the protocol does. */
    boolean disconnectsAtOnce();

    /** How soon a peer's device that found no receive tries again: InfiniBand's code (9.7.5.2.8), or 0 for 655 ms. */
    int receiverNotReadyTimer();

    /** The connection is up; zeros may follow the peer's data. If it throws, the caller aborts the connection. */
    void start(byte[] peer, boolean accepted) throws IOException;

    /** The connection manager says that the peer is gone; what it sent before was taken in. */
    void onDisconnected();

    /** The connection cannot go on; {@code reset} if the death of a peer looks the same. */
    void fail(boolean reset, String reason);

    /** Called after anything that may have changed what has to be posted, or what memory is needed. */
    void settle();

    /** How many requests the peer's device has not acknowledged: 0 for none. */
    int outstandingSends();

    /** The peer's device is silent for too long: see {@link Liveness}. The connection fails, and people read why. */
    void giveUp(long seconds);

    /** Has the device show what has completed, if nothing else does; true if this call asked it. */
    boolean confirm();

    /** Asks the peer's device for a sign of life. */
    void keepAlive();

    /** Poller thread, at each tick or in each round: whether to be called at the next tick, too. */
    boolean tick(long now);

    /** This process ends soon: the peer is told, if the protocol has a word for it. */
    void leave();

    /** The application has closed this end: the peer is told after everything that was sent. */
    void disconnect();

    /** Whether the peer has all that was sent, while this is open; true also if that is not known. */
    boolean isSettled();

    /** Whether nothing is left for the device to do after {@link #disconnect}; true also if it never will be done. */
    boolean isDrained();

    /** Whether the peer has said that it leaves. */
    boolean isPeerLeaving();

    /** Whether this has failed, so that nothing more gets to the peer. */
    boolean hasFailed();

    /**
     * The last call, also after a failed {@link #allocate}, or none: nothing of the device is touched from now on. The
     * returned task runs without the lock, on the set-up pool, and frees all memory when the queue pair is gone.
     */
    Runnable end();

    /** How much memory is registered. Any thread. */
    long registeredBytes();

    /** Bytes of a stream that were read so far, 0 where there is none. Any thread, which may see less. */
    default long receivedBytes() {
        return 0;
    }

    /** Bytes of a stream that were written. Likewise. */
    default long sentBytes() {
        return 0;
    }

    /** Any thread: something has come in that no caller waits for. */
    @Override
    default void onBacklog() {
        connection().onBacklog();
    }

    /** Makes the protocols of connections. */
    interface Maker<P extends Protocol> {
        /** The octet of RFC 2474 for packets to come: 0 to 255, 0 for none in particular. */
        default int trafficClass() {
            return 0;
        }

        /**
         * Set-up pool: makes one, without the device; {@code asked}, the peer's request, is null at the end that
         * connects. If it throws, the request was wrong, and the peer is refused.
         */
        P make(VerbsConnection connection, ConnectionParameters asked) throws IOException;
    }
}
