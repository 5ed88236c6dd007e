package org.rdmasockets;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import org.rdmasockets.choice.ClientEnd;
import org.rdmasockets.choice.ServerEnd;
import org.rdmasockets.lock.OwnThread;

/**
 * What a socket holds of the transport: a binding, then a listener or a connection. It is released by the socket's
 * close, or by a thread of this class if the socket was forgotten; so it must never lead back to the socket. The
 * socket's state lock guards it until that thread, who then is alone. It does what a {@code Cleaner} would, in one
 * object for each socket instead of three.
 */
final class HeldResource extends PhantomReference<Object> implements Runnable {
    private static final ReferenceQueue<Object> FORGOTTEN = new ReferenceQueue<>();

    /** All that were not released, each leads to its neighbours; guarded by the class, as are their links. */
    private static HeldResource first;

    static {
        // A platform thread: clean-up must not wait for a free carrier.
        OwnThread.unstarted("rdma-forgotten", new HeldResource(null)).start();
    }

    private HeldResource previous;
    /** This itself, once it is not among them any more. */
    private HeldResource next;
    /** The close of a connection does not block; null for nothing. */
    private AutoCloseable resource;

    private HeldResource(Object owner) {
        super(owner, FORGOTTEN);
    }

    /** Makes one that holds nothing yet. */
    static HeldResource of(Object owner) {
        HeldResource made = new HeldResource(owner);
        synchronized (HeldResource.class) {
            made.next = first;
            if (first != null) {
                first.previous = made;
            }
            first = made;
        }
        return made;
    }

    /** Releases what was forgotten, for ever. The task is one of these because a lambda costs two more classes. */
    @Override
    public void run() {
        while (true) {
            try {
                ((HeldResource) FORGOTTEN.remove()).releaseSoon();
            } catch (InterruptedException | RuntimeException | Error e) {
                // As with a Cleaner, the others are released all the same.
            }
        }
    }

    /**
     * Holds something from now on, which must not refer to the owner, instead of what was held before, which is not
     * released.
     */
    void hold(AutoCloseable newResource) {
        resource = newResource;
    }

    /** Holds nothing any more, without releasing it: the caller does. */
    void forget() {
        resource = null;
        end();
    }

    /** Whether this was the first to end it; the collector has no interest in it any more then. */
    private boolean end() {
        synchronized (HeldResource.class) {
            if (next == this) {
                return false;
            }
            if (previous == null) {
                first = next;
            } else {
                previous.next = next;
            }
            if (next != null) {
                next.previous = previous;
            }
            previous = null;
            next = this;
        }
        clear();
        return true;
    }

    /** Releases what is held, in a thread of its own if that may take a moment, as until a port is free. */
    private void releaseSoon() {
        if (resource instanceof ClientEnd || resource instanceof ServerEnd) {
            try {
                OwnThread.unstarted("rdma-release", this::release).start();
                return;
            } catch (OutOfMemoryError e) {
                // There is no thread for it: the others wait that moment.
            }
        }
        release();
    }

    /** Releases what is held. */
    void release() {
        if (!end()) {
            return;
        }
        AutoCloseable held = resource;
        resource = null;
        try {
            if (held != null) {
                held.close();
            }
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("none of what is held throws", e);
        }
    }
}
