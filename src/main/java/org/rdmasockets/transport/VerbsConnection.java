package org.rdmasockets.transport;

import java.io.IOException;
import java.io.InterruptedIOException;
import org.rdmasockets.completion.Side;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Device;

/**
 * One end of a connection over verbs, whatever goes over it: what the engine, who dials and who listens know of it. It
 * is the engine's from {@link Maker#make} until its teardown has ended.
 */
public abstract class VerbsConnection extends Ending implements ConnectionHandler {
    /** Of a connection that is in no roster. */
    static final int NO_PLACE = -1;

    /** What it shares with others. */
    protected final Engine engine;
    /** Where it stands in the engine's roster; the roster's. */
    int place = NO_PLACE;
    /** Whether it is visited at each tick; read without a lock, changed by the roster. */
    volatile boolean attending;

    /**
     * A connection that is not registered yet.
     *
     * @param engine what it shares with others
     */
    protected VerbsConnection(Engine engine) {
        this.engine = engine;
    }

    /** Any thread: something is to be expected of this connection, so it is visited at each tick from now on. */
    protected final void attend() {
        engine.attend(this);
    }

    /** Any thread, after a close: where the process ends, nobody else waits until what was sent has arrived. */
    protected final void awaitEndAtExit() {
        if (Engine.isExiting()) {
            try {
                Patience.await(this::await, Engine.exitDeadline());
            } catch (InterruptedIOException e) {
                return; // it goes on in the background, as long as the process does
            }
        }
    }

    /**
     * What the peer is told and asked for.
     *
     * @return private data, reads at once and retries; the same each time
     */
    public abstract ConnectionParameters parameters();

    /**
     * Set-up pool: the connection is up.
     *
     * @param peer the peer's private data, perhaps with zeros behind it
     * @param accepted whether this is the end that accepted
     * @throws IOException if the connection is of no use; the caller aborts it
     */
    public abstract void start(byte[] peer, boolean accepted) throws IOException;

    /**
     * Poller thread: the connection manager tells something of a connection that has started.
     *
     * @param event what happened; must not block
     */
    public abstract void onConnectionEvent(ConnectionEvent event);

    @Override
    public void onEvent(ConnectionIdentifier identifier, ConnectionEvent event) {
        onConnectionEvent(event);
    }

    /**
     * Any thread: this connection cannot go on, because its device says so. Must not block.
     *
     * @param reset true if a peer that died brings that, too
     * @param reason what happened, for people
     */
    public abstract void fail(boolean reset, String reason);

    /** Any thread: ends the connection without a word to the peer. Must not block; idempotent. */
    public abstract void abort();

    /**
     * Poller thread, a few times a second, or each few seconds while this is quiet: looks for deadlines that have
     * passed. Must not block.
     *
     * @param now by {@code System.nanoTime}
     * @return false if it will do to look within {@link Engine#ROUND_NANOS} again, unless it attends before
     */
    public abstract boolean tick(long now);

    /**
     * Tells whether this connection goes over a device.
     *
     * @param other a device
     * @return true if it does
     */
    public abstract boolean uses(Device other);

    /**
     * Tells whether this connection has a queue pair.
     *
     * @param other a device
     * @param queuePairNumber number of a queue pair there
     * @return true if it does
     */
    public abstract boolean uses(Device other, int queuePairNumber);

    /** Any thread: this process ends soon, which the peer is told where the protocol has a word for it. */
    public void leave() {
    }

    /**
     * Tells whether nothing that was sent is on its way any more. Any thread.
     *
     * @return true also when it never will arrive
     */
    public abstract boolean isDelivered();

    /**
     * How much memory this connection has registered. Any thread.
     *
     * @return bytes
     */
    public abstract long registeredBytes();

    /**
     * Makes connections, before anything is sent.
     *
     * @param <C> what it makes
     */
    public interface Maker<C extends VerbsConnection> {
        /**
         * The octet of RFC 2474 for packets to come.
         *
         * @return 0 to 255, 0 for none in particular
         */
        default int trafficClass() {
            return 0;
        }

        /**
         * Checks what a peer asks for, before anything is made for it.
         *
         * @param privateData what the peer has sent
         * @throws IOException if it cannot be had: the peer is refused
         */
        void check(byte[] privateData) throws IOException;

        /**
         * Set-up pool: makes what a connection needs, with receives posted, ready to connect or to accept.
         *
         * @param engine the engine
         * @param identifier a connection whose device is known
         * @param events where its events go
         * @param side who connects to whom
         * @param asked what the peer has asked for, if this is the end that accepts; else null
         * @return the connection
         * @throws IOException if the device refuses; the identifier stays the caller's then
         */
        C make(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events, Side side,
                ConnectionParameters asked) throws IOException;
    }
}
