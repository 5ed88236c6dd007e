package org.rdmasockets.internal.ibverbs;

import java.util.Arrays;
import java.util.function.Consumer;
import org.rdmasockets.internal.ffi.Epoll;
import org.rdmasockets.internal.ffi.EpollWait;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/**
 * A poller over {@code epoll(7)}. It keeps the descriptors of its sources open, so that a number that was closed and
 * given out again is never taken for the one before.
 */
final class IbverbsEventPoller implements EventPoller {
    private final Epoll descriptors;
    private final EpollWait wait;
    /**
     * The sources that are waited for, by the number that the kernel knows; null where there is none. Replaced, never
     * changed; written under this monitor. A number is used again: a source that is reported because of that for no
     * reason has nothing to drain.
     */
    private volatile Pollable[] sources = {};
    private volatile boolean closed;

    /** A poller without sources; throws if no descriptor can be had. */
    IbverbsEventPoller() throws VerbsException {
        descriptors = Epoll.create();
        try {
            wait = EpollWait.on(descriptors);
        } catch (Throwable e) {
            descriptors.close();
            throw e;
        }
    }

    @Override
    public void add(EventSource source) {
        if (!(source instanceof Pollable pollable)) {
            throw new IllegalArgumentException("the event source belongs to another provider");
        }
        synchronized (this) {
            if (closed || indexOf(pollable) >= 0 || !pollable.tryRetain()) {
                return;
            }
            int free = indexOf(null);
            Pollable[] more = Arrays.copyOf(sources, free < 0 ? sources.length + 1 : sources.length);
            int index = free < 0 ? sources.length : free;
            more[index] = pollable;
            sources = more;
            try {
                descriptors.watch(pollable.descriptor(), Epoll.READABLE, index);
            } catch (VerbsException e) {
                remove(source);
                throw new IllegalStateException(e.getMessage(), e);
            }
        }
    }

    private int indexOf(Pollable source) {
        return Arrays.asList(sources).indexOf(source);
    }

    @Override
    public void remove(EventSource source) {
        synchronized (this) {
            if (!(source instanceof Pollable pollable) || indexOf(pollable) < 0) {
                return;
            }
            Pollable[] fewer = sources.clone();
            fewer[indexOf(pollable)] = null;
            sources = fewer;
            descriptors.remove(pollable.descriptor());
        }
        ((Pollable) source).release();
    }

    @Override
    public int await(int timeoutMillis, Consumer<? super EventSource> ready) throws VerbsException {
        if (closed) {
            throw new VerbsException("epoll_wait", Errno.ESHUTDOWN, "the event poller is closed");
        }
        for (Pollable source : sources) {
            if (source != null && source.isClosed()) {
                remove(source);
            }
        }
        int found = wait.await(timeoutMillis);
        int reported = 0;
        for (int i = 0; i < found; i++) {
            Pollable source = sources[(int) wait.data(i)];
            if (source != null) {
                ready.accept(source);
                reported++;
            }
        }
        return reported;
    }

    @Override
    public void wakeup() {
        wait.wakeup();
    }

    @Override
    public void close() {
        Pollable[] held;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            held = sources;
            sources = new Pollable[sources.length];
        }
        // Without waiting: the caller may be the waiting thread, and else the last to leave frees the descriptors.
        wait.close();
        descriptors.close();
        for (Pollable source : held) {
            if (source != null) {
                source.release();
            }
        }
    }
}
