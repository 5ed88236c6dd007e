package org.rdmasockets.internal.waiting;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/** {@code poll(2)} made of a monitor. */
final class SimulatedEvents implements EventPoller, BooleanSupplier {
    /** Something that can be ready. */
    interface Source extends EventSource {
        /** True until it is drained. */
        boolean isReady();
    }

    private final List<Source> sources = new CopyOnWriteArrayList<>();
    private volatile int lastTimeoutMillis;
    /** Guarded by this monitor. */
    private boolean woken;
    /** Guarded by this monitor: lets the next wait fail. */
    private boolean broken;
    /** Guarded by this monitor. */
    private boolean closed;

    /** A source may have become ready. */
    synchronized void signal() {
        notifyAll();
    }

    /** Lets the wait in progress, or the next, throw. */
    synchronized void breakDown() {
        broken = true;
        notifyAll();
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** How long the poller wanted to sleep last; negative is for ever. */
    int lastTimeoutMillis() {
        return lastTimeoutMillis;
    }

    @Override
    public void add(EventSource source) {
        sources.add((Source) source);
        signal();
    }

    @Override
    public void remove(EventSource source) {
        sources.remove((Source) source);
    }

    @Override
    public int await(int timeoutMillis, Consumer<? super EventSource> ready) throws VerbsException {
        lastTimeoutMillis = timeoutMillis;
        sleep(timeoutMillis);
        int count = 0;
        for (Source source : sources) {
            if (source.isReady()) {
                ready.accept(source);
                count++;
            }
        }
        return count;
    }

    /** Whether a wait would end now. */
    @Override
    public synchronized boolean getAsBoolean() {
        return woken || sources.stream().anyMatch(Source::isReady);
    }

    private synchronized void sleep(int timeoutMillis) throws VerbsException {
        long deadline = System.nanoTime() + timeoutMillis * 1_000_000L;
        while (!getAsBoolean()) {
            if (broken) {
                throw new VerbsException("poll", Errno.EBADF, "");
            }
            long left = timeoutMillis < 0 ? 0 : (deadline - System.nanoTime() + 999_999) / 1_000_000;
            if (timeoutMillis >= 0 && left <= 0) {
                break;
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                throw new VerbsException("poll", Errno.EINTR, "");
            }
        }
        woken = false;
    }

    @Override
    public synchronized void wakeup() {
        woken = true;
        notifyAll();
    }

    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
    }
}
