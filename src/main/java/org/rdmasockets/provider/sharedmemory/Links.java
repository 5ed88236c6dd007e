package org.rdmasockets.provider.sharedmemory;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.rdmasockets.provider.sharedmemory.link.Link;
import org.rdmasockets.provider.sharedmemory.link.LinkHandler;
import org.rdmasockets.provider.sharedmemory.link.LinkHub;
import org.rdmasockets.provider.sharedmemory.link.LinkOwner;
import org.rdmasockets.verbs.VerbsException;

/** The links to other processes, opened at first use. */
final class Links implements LinkOwner {
    private final SharedMemoryFabric fabric;
    /** Null until first use; written under this monitor. */
    private volatile LinkHub hub;
    /** Links with more entries than one call of the waiting thread takes. */
    private final Queue<LinkEnd> busy = new ConcurrentLinkedQueue<>();

    /** No links. */
    Links(SharedMemoryFabric fabric) {
        this.fabric = fabric;
    }

    /**
     * The hub of this provider.
     *
     * @return the hub, opened now if this is the first use
     * @throws VerbsException if there is no shared memory here, with the reason and a remedy
     */
    LinkHub hub() throws VerbsException {
        LinkHub open = hub;
        return open != null ? open : openHub();
    }

    private synchronized LinkHub openHub() throws VerbsException {
        if (hub == null) {
            hub = fabric.linksOnly() ? LinkHub.openToItself(this) : LinkHub.open(this);
        }
        return hub;
    }

    @Override
    public LinkHandler onLink(Link link) {
        return new LinkEnd(fabric, link);
    }

    /** Remembers a link that has more entries; whoever waits goes on with it. */
    void drainLater(LinkEnd end) {
        busy.add(end);
    }

    /** Whether {@link #drainBusy} has something to do. */
    boolean isBusy() {
        return !busy.isEmpty();
    }

    /** Goes on with links that had more entries, once each. */
    void drainBusy() {
        for (int left = busy.size(); left > 0; left--) {
            LinkEnd end = busy.poll();
            if (end != null) {
                end.drainPostponed();
            }
        }
    }
}
