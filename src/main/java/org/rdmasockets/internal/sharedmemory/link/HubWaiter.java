package org.rdmasockets.internal.sharedmemory.link;

import org.rdmasockets.internal.ffi.EpollWait;
import org.rdmasockets.verbs.VerbsException;

/**
 * Lets one thread at a time wait for a hub, and any thread wake it. The waiting thread handles what it is told of by
 * {@link #drain}, so other waiters need not be told.
 */
public final class HubWaiter implements AutoCloseable {
    private final LinkHub hub;
    private final EpollWait wait;
    /** How many sockets the last wait found; the waiting thread only. */
    private int found;

    HubWaiter(LinkHub hub, EpollWait wait) {
        this.hub = hub;
        this.wait = wait;
    }

    /**
     * Waits until the hub has something to do, and gives true then, {@link #wakeup} is called or the time is over: in
     * milliseconds, 0 to look only, negative for no limit. <em>Blocks</em>, in the system call: a virtual thread keeps
     * its carrier. One thread at a time. Throws if waiting failed, or this is closed.
     */
    public boolean await(int timeoutMillis) throws VerbsException {
        found = wait.await(timeoutMillis);
        return found > 0;
    }

    /**
     * Does what the last wait found: accepts links, reads doorbells and announcements, notices deaths. Calls handlers.
     * Never waits for a peer. Threads come in one after another.
     */
    public void drain() {
        hub.drain(wait, found);
        found = 0;
    }

    /** Ends a wait in progress, or the next one, early. Never blocks; harmless when closed. */
    public void wakeup() {
        wait.wakeup();
    }

    /** Ends the wait in progress without waiting for it: the last to leave frees the descriptors. */
    @Override
    public void close() {
        wait.close();
    }
}
