package org.rdmasockets.internal.socket;

import java.lang.ref.Cleaner;
import org.rdmasockets.internal.selection.Connector;
import org.rdmasockets.internal.selection.Acceptor;
import org.rdmasockets.internal.lock.LibraryThreads;

/**
 * The part of the transport that a socket holds: a binding, then a listener or a connection. The socket's close
 * releases it, or the cleaner if that was forgotten; it must never lead back to the socket. The state lock guards it.
 */
public final class HeldResource implements Runnable {
    /** The close of a connection does not block; null for nothing. */
    private AutoCloseable resource;
    private final Cleaner.Cleanable release;

    /** Holds nothing yet. */
    HeldResource(Object owner) {
        release = LibraryThreads.cleaner().register(owner, this);
    }

    /** Holds something that must not refer to the owner, instead of what was held, which is not released. */
    void hold(AutoCloseable newResource) {
        resource = newResource;
    }

    /** Holds nothing any more, without releasing it: the caller does. */
    void forget() {
        resource = null;
        release.clean();
    }

    /** Releases it before it tells the cleaner: the cleaner may fail, and a socket is closed only once. */
    void release() {
        close();
        release.clean();
    }

    /** Runs in the thread of the cleaner, which does not wait until a port is free; nothing is left after a release. */
    @Override
    public void run() {
        if (resource instanceof Connector || resource instanceof Acceptor) {
            try {
                LibraryThreads.unstarted("rdma-release", this::close).start();
                return;
            } catch (OutOfMemoryError e) {
                // There is no thread for it: the others wait that moment.
            }
        }
        close();
    }

    private void close() {
        AutoCloseable last = resource;
        try {
            if (last != null) {
                last.close();
            }
            resource = null; // after an Error the cleaner tries again
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("none of what is held throws", e);
        }
    }
}
