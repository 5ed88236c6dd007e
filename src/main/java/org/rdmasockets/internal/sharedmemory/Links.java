package org.rdmasockets.internal.sharedmemory;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.rdmasockets.internal.sharedmemory.link.Link;
import org.rdmasockets.internal.sharedmemory.link.LinkHandler;
import org.rdmasockets.internal.sharedmemory.link.LinkHub;
import org.rdmasockets.internal.sharedmemory.link.LinkHub.LinkOwner;
import org.rdmasockets.verbs.VerbsException;

/** The links to other processes, opened at first use. */
final class Links implements LinkOwner {
    private static final int MOST_ROUTES = 1024;

    private final SharedMemoryFabric fabric;
    /** Null until first use; written under this monitor. */
    private volatile LinkHub hub;
    /** The last of the links with more entries than one call of the waiting thread takes; each knows the one before. */
    private final AtomicReference<LinkDispatcher> busy = new AtomicReference<>();
    /** The processes that were found to listen, by address. */
    private final Map<InetSocketAddress, Route> routes = new ConcurrentHashMap<>();
    /** All links that have not ended; guarded by itself, as is the next. */
    private final Set<LinkDispatcher> all = new HashSet<>();
    /** The completion queues of ports for datagrams, which may come over any link, and how many ports each has. */
    private final Map<SharedMemoryCompletionQueue, int[]> forDatagrams = new HashMap<>(1);

    /** A process that listens on an address, as long as it has given up no more names. */
    private record Route(LinkDispatcher end, int namesGivenUp) {
        boolean isCurrent() {
            return end.isOpen() && end.link.peerNamesGivenUp() == namesGivenUp;
        }
    }

    Links(SharedMemoryFabric fabric) {
        this.fabric = fabric;
    }

    /** The hub of this provider, opened now if this is the first use; or why there is none, with a remedy. */
    LinkHub hub() throws VerbsException {
        if (hub == null) {
            synchronized (this) {
                if (hub == null) {
                    hub = fabric.linksOnly ? LinkHub.openToItself(this) : LinkHub.open(this);
                }
            }
        }
        return hub;
    }

    /** Ends all links. */
    synchronized void close() {
        if (hub != null) {
            hub.close();
        }
    }

    @Override
    public LinkHandler onLink(Link link) {
        LinkDispatcher end = new LinkDispatcher(fabric, link);
        synchronized (all) {
            all.add(end);
            boolean done = false;
            try {
                for (SharedMemoryCompletionQueue queue : forDatagrams.keySet()) { // a lambda takes ms at first
                    end.attach(queue);
                }
                done = true;
            } finally {
                if (!done) { // it has no other users yet
                    forget(end);
                }
            }
        }
        return end;
    }

    /** A link has ended. */
    void ended(LinkDispatcher end) {
        try {
            synchronized (all) {
                forget(end);
            }
        } finally {
            fabric.datagramLinkEnded();
        }
    }

    /** Detaches the queues of ports from a link, once; the monitor of {@link #all} is held. */
    private void forget(LinkDispatcher end) {
        if (all.remove(end)) {
            for (SharedMemoryCompletionQueue queue : forDatagrams.keySet()) {
                end.detach(queue);
            }
        }
    }

    /** Lets a completion queue poll and arm all links, for one port more. */
    void attach(SharedMemoryCompletionQueue queue) {
        synchronized (all) {
            List<LinkDispatcher> attached = new ArrayList<>(all.size());
            boolean done = false;
            try {
                int[] ports = forDatagrams.get(queue);
                if (ports == null) {
                    for (LinkDispatcher end : all) {
                        end.attach(queue);
                        attached.add(end);
                    }
                    ports = new int[1];
                    forDatagrams.put(queue, ports);
                }
                ports[0]++;
                done = true;
            } finally {
                for (int i = 0; !done && i < attached.size(); i++) {
                    attached.get(i).detach(queue);
                }
            }
        }
    }

    /** Undoes one {@link #attach}. */
    void detach(SharedMemoryCompletionQueue queue) {
        synchronized (all) {
            int[] ports = forDatagrams.get(queue);
            if (--ports[0] == 0) {
                forDatagrams.remove(queue);
                Error failure = null;
                for (LinkDispatcher end : all) {
                    try {
                        end.detach(queue);
                    } catch (Error e) { // no memory: the other links come first
                        failure = e;
                    }
                }
                if (failure != null) {
                    throw failure;
                }
            }
        }
    }

    /** The link to the process that listens on an address; null if that is not known, or not any more. */
    LinkDispatcher route(InetSocketAddress destination) {
        Route known = routes.get(destination);
        if (known != null && !known.isCurrent()) {
            routes.remove(destination, known);
            return null;
        }
        return known == null ? null : known.end();
    }

    /** The process at the other end of a link was found to listen on an address. */
    void rememberRoute(InetSocketAddress destination, LinkDispatcher end) {
        if (routes.size() >= MOST_ROUTES) {
            routes.values().removeIf(route -> !route.isCurrent());
        }
        if (routes.size() < MOST_ROUTES) {
            routes.put(destination, new Route(end, end.link.peerNamesGivenUp()));
        }
    }

    /** Forgets a route: no process listens on the address any more. */
    void forgetRoute(InetSocketAddress destination) {
        routes.remove(destination);
    }

    /** Remembers a link that has more entries; a waiting thread goes on with it. Takes no memory. */
    void drainLater(LinkDispatcher end) {
        LinkDispatcher before;
        do {
            before = busy.get();
            end.nextBusy = before;
        } while (!busy.compareAndSet(before, end));
    }

    /** Takes everything that other processes have published by now. */
    void catchUp() throws VerbsException {
        for (Link link : hub().links()) {
            if (link.handler() instanceof LinkDispatcher end) { // none before it was begun
                end.catchUp();
            }
        }
    }

    /** Whether {@link #drainBusy} has something to do. */
    boolean isBusy() {
        return busy.get() != null;
    }

    /** Goes on with links that had more entries, once each; those that an error leaves out are remembered on. */
    void drainBusy() {
        LinkDispatcher end = isBusy() ? busy.getAndSet(null) : null;
        try {
            while (end != null) {
                LinkDispatcher drained = end;
                end = drained.nextBusy;
                drained.nextBusy = null;
                drained.drainPostponed();
            }
        } finally {
            while (end != null) {
                LinkDispatcher left = end;
                end = left.nextBusy;
                drainLater(left);
            }
        }
    }
}
