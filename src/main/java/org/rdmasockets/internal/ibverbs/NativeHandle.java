package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * Owner of one native object: destroyed once, after the calls that use it and after its children. A parent closed
 * first is destroyed by its last child.
 *
 * <p>The object's monitor guards the fields below and, in subclasses, the native object during calls of the data path.
 * It is never held while something is destroyed, because that can block for long.
 */
abstract class NativeHandle implements AutoCloseable {
    /** The kind of this object, for messages. */
    private final String kind;
    /** Whether close was called; guarded by this. */
    private boolean closed;
    /** Whether the native object is gone or going; guarded by this. */
    private boolean destroyed;
    /** Control calls in progress; guarded by this. */
    private int calls;
    /** Children whose native object exists; guarded by this. */
    private int children;

    NativeHandle(String kind) {
        this.kind = kind;
    }

    /** Destroys the native object and releases the parents. Called once, without any lock of this package held. */
    abstract void destroy();

    /** Whether close was called. */
    public final synchronized boolean isClosed() {
        return closed;
    }

    /** Whether close was called, for callers that hold the monitor and are on the data path. */
    final boolean isClosedLocked() {
        assert Thread.holdsLock(this);
        return closed;
    }

    /** Begins a control call, and {@link #leave} has to follow; false if this is closed. */
    final synchronized boolean tryEnter() {
        if (closed) {
            return false;
        }
        calls++;
        return true;
    }

    /** A control call in progress, and memory that lasts as long. */
    final class Entry implements AutoCloseable {
        final Arena arena = Arena.ofConfined();

        @Override
        public void close() {
            try {
                arena.close();
            } finally {
                leave();
            }
        }
    }

    /** Begins a control call, whose entry has to be closed. Throws if this is closed. */
    final Entry enter(ControlCall call) throws VerbsException {
        Entry entry = new Entry();
        if (!tryEnter()) {
            throw closedFailure(call);
        }
        return entry;
    }

    /** Ends what {@link #tryEnter} began. */
    final synchronized void leave() {
        calls--;
        if (calls == 0) {
            notifyAll();
        }
    }

    /** The exception for a call on a closed object. */
    final VerbsException closedFailure(ControlCall call) {
        return new VerbsException(call.name, Errno.ESHUTDOWN, "the " + kind + " is closed");
    }

    /** Takes part in this object's life as a child; {@link #release} has to follow. Throws if this is closed. */
    final void retain(ControlCall call) throws VerbsException {
        if (!tryRetain()) {
            throw closedFailure(call);
        }
    }

    /** How a child is made. */
    interface Making<T> {
        T make() throws VerbsException;
    }

    /** Makes a child, which retains this, and so has to release it. Throws if this is closed or it cannot be made. */
    final <T> T makeChild(ControlCall call, Making<T> making) throws VerbsException {
        retain(call);
        try {
            return making.make();
        } catch (Throwable e) {
            release();
            throw e;
        }
    }

    /** Takes part in this object's life as a child, for a caller that has entered it. */
    final synchronized void retainEntered() {
        assert calls > 0;
        children++;
    }

    /** Takes part in this object's life as a child, if it is open. */
    public final synchronized boolean tryRetain() {
        if (!closed) {
            children++;
        }
        return !closed;
    }

    /** Ends what {@link #retain} began; the last child of a closed parent destroys it. */
    public final void release() {
        synchronized (this) {
            children--;
        }
        destroyIfUnused();
    }

    /** Waits until no control call is in progress; the monitor is held. */
    final void awaitCalls() {
        boolean interrupted = false;
        while (calls > 0) {
            interrupted |= LibraryThreads.awaitNotify(this);
        }
        LibraryThreads.restore(interrupted);
    }

    /** Whether the caller has to destroy; the monitor is held. */
    private boolean claimDestruction() {
        boolean claimed = closed && calls == 0 && children == 0 && !destroyed;
        destroyed |= claimed;
        return claimed;
    }

    /**
     * Refuses everything from now on, without waiting for what is in progress beyond the data path; true for the first
     * caller, which then has to call {@link #finishClose}.
     */
    final synchronized boolean beginClose() {
        boolean first = !closed;
        closed = true;
        return first;
    }

    /** Waits for control calls in progress, then destroys unless children are left. */
    final void finishClose() {
        synchronized (this) {
            awaitCalls();
        }
        destroyIfUnused();
    }

    /** Destroys if this is closed and neither calls nor children are left; for closing without waiting. */
    final void destroyIfUnused() {
        boolean last;
        synchronized (this) {
            last = claimDestruction();
        }
        if (last) {
            destroy();
        }
    }

    @Override
    public void close() {
        if (beginClose()) {
            finishClose();
        }
    }
}
