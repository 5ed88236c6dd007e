package org.rdmasockets;

import java.lang.ref.Cleaner;
import org.rdmasockets.transport.Forgotten;

/**
 * What a socket holds of the transport: a binding, then a listener or a connection. It is released by the socket's
 * close, or by the cleaner if the socket was forgotten; so it must never lead back to the socket. The socket's
 * stateLock guards it until the cleaner, who then is alone.
 */
final class HeldResource implements Runnable {
    private final Cleaner.Cleanable registration;
    /** Releases what is held, without blocking; null for nothing. */
    private Runnable release;

    private HeldResource(Object owner) {
        this.registration = Forgotten.whenForgotten(owner, this);
    }

    /**
     * Makes one that holds nothing yet.
     *
     * @param owner whose end it shares
     * @return the new one
     */
    static HeldResource of(Object owner) {
        return new HeldResource(owner);
    }

    /**
     * Holds something from now on, instead of what was held before, which is not released.
     *
     * @param releaseLater releases it without blocking; must not refer to the owner
     */
    void hold(Runnable releaseLater) {
        release = releaseLater;
    }

    /** Holds nothing any more, without releasing it: the caller does. */
    void forget() {
        release = null;
        registration.clean();
    }

    /** Releases what is held. */
    void release() {
        registration.clean();
    }

    @Override
    public void run() {
        if (release != null) {
            release.run();
            release = null;
        }
    }
}
