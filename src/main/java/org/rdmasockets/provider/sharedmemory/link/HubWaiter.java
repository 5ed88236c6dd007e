package org.rdmasockets.provider.sharedmemory.link;

import org.rdmasockets.provider.sharedmemory.os.Epoll;
import org.rdmasockets.provider.sharedmemory.os.WakeableWait;
import org.rdmasockets.verbs.VerbsException;

/** Lets one platform thread wait for a hub, and any thread wake it. */
public final class HubWaiter implements AutoCloseable {
    private final WakeableWait wait;

    /** A waiter for the sockets of a hub. */
    HubWaiter(Epoll sockets) throws VerbsException {
        wait = WakeableWait.on(sockets);
    }

    /**
     * Waits until the hub has something to drain, {@link #wakeup} is called or the time is over. <em>May block</em>:
     * platform threads only, one at a time.
     *
     * @param timeoutMillis longest wait in milliseconds, 0 to look only, negative for no limit
     * @return true if {@link LinkHub#drain} has something to do
     * @throws VerbsException if waiting failed, or this is closed
     */
    public boolean await(int timeoutMillis) throws VerbsException {
        return wait.await(timeoutMillis);
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
