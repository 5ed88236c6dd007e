package org.rdmasockets;

import java.lang.ref.Cleaner;
import org.rdmasockets.choice.ClientEnd;
import org.rdmasockets.choice.ServerEnd;
import org.rdmasockets.transport.Connection;
import org.rdmasockets.transport.Forgotten;

/**
 * What a socket holds of the transport: a binding, then a listener or a connection. It is released by the socket's
 * close, or by the cleaner if the socket was forgotten; so it must never lead back to the socket. The socket's
 * state lock guards it until the cleaner, who then is alone.
 */
final class HeldResource implements Runnable {
    private final Cleaner.Cleanable registration;
    /** Its close does not block; null for nothing. */
    private AutoCloseable resource;

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
     * @param newResource its close does not block; must not refer to the owner
     */
    void hold(AutoCloseable newResource) {
        resource = newResource;
    }

    /** Holds nothing any more, without releasing it: the caller does. */
    void forget() {
        resource = null;
        registration.clean();
    }

    /** Releases what is held. */
    void release() {
        registration.clean();
    }

    @Override
    public void run() {
        switch (resource) {
            case null -> {
            }
            case Connection connection -> connection.close();
            case ClientEnd client -> client.close();
            case ServerEnd server -> server.close();
            default -> throw new AssertionError(resource);
        }
        resource = null;
    }
}
