package org.rdmasockets.internal.sharedmemory.link;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** A hub with a thread that drains it, as a process has it. */
final class Node implements AutoCloseable {
    static final long LIMIT_SECONDS = 60;

    final LinkHub hub;
    private final LinkHub.HubWaiter waiter;
    private final Thread thread;
    private final BlockingQueue<Recorder> arrived = new LinkedBlockingQueue<>();
    /** The failure that ended the thread; null if closing did. */
    private volatile Throwable failure;
    private volatile boolean closing;

    Node() throws VerbsException {
        this(false);
    }

    private Node(boolean toItself) throws VerbsException {
        LinkHub.LinkOwner owner = link -> {
            Recorder recorder = new Recorder(link);
            arrived.add(recorder);
            return recorder;
        };
        hub = toItself ? LinkHub.openToItself(owner) : LinkHub.open(owner);
        waiter = hub.newWaiter();
        thread = Thread.ofPlatform().name("node").daemon().start(this::run);
    }

    static Node linkedToItself() throws VerbsException {
        return new Node(true);
    }

    private void run() {
        try {
            while (!closing) {
                if (waiter.await(-1)) {
                    waiter.drain();
                }
            }
        } catch (VerbsException | RuntimeException | Error e) {
            if (!closing) {
                failure = e;
                e.printStackTrace();
            }
        }
    }

    /** A listener on a free port of the loopback address. */
    LinkListener listen() throws VerbsException {
        return listen(hub, InetAddress.getLoopbackAddress());
    }

    /** A listener of a hub on a free port. */
    static LinkListener listen(LinkHub hub, InetAddress address) throws VerbsException {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(32_768, 61_000);
            try {
                return hub.listen(new InetSocketAddress(address, port));
            } catch (VerbsException e) {
                if (e.errno() != Errno.EADDRINUSE) {
                    throw e;
                }
            }
        }
    }

    /** Dials and waits for the link. */
    Recorder dial(InetSocketAddress address) throws Exception {
        return (Recorder) outcome(address).get(LIMIT_SECONDS, TimeUnit.SECONDS).handler();
    }

    /** Dials; the future fails with what the dial failed with. */
    CompletableFuture<Link> outcome(InetSocketAddress address) throws VerbsException {
        CompletableFuture<Link> outcome = new CompletableFuture<>();
        hub.dial(address, new LinkConnector.DialHandler() {
            @Override
            public void onLink(Link link) {
                outcome.complete(link);
            }

            @Override
            public void onFailed(VerbsException problem) {
                outcome.completeExceptionally(problem);
            }
        });
        return outcome;
    }

    /** Waits for the next new link, of either side. */
    Recorder nextLink() throws InterruptedException {
        Recorder recorder = arrived.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
        assertNotNull(recorder, () -> "no link came; the thread ended with " + failure);
        return recorder;
    }

    /** The next new link, or null if there is none now. */
    Recorder pollLink() {
        return arrived.poll();
    }

    /** How many new links {@link #nextLink} has not handed out. */
    int unclaimedLinks() {
        return arrived.size();
    }

    @Override
    public void close() {
        closing = true;
        hub.close();
        waiter.close();
        try {
            thread.join(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        if (thread.isAlive() || failure != null) {
            throw new AssertionError("the node's thread did not end well", failure);
        }
    }

    /** Two nodes with a link between them. */
    record Pair(Node near, Node far, Recorder nearEnd, Recorder farEnd) implements AutoCloseable {
        static Pair connect() throws Exception {
            Node near = new Node();
            Node far = new Node();
            try (LinkListener listener = far.listen()) {
                Recorder nearEnd = near.dial(listener.address());
                return new Pair(near, far, nearEnd, far.nextLink());
            }
        }

        @Override
        public void close() {
            nearEnd.link.close();
            farEnd.link.close();
            near.close();
            far.close();
        }
    }

    /** A queue that a handler fills and a test empties. */
    static <T> T next(BlockingQueue<T> queue, String what) throws InterruptedException {
        T taken = queue.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
        assertNotNull(taken, () -> "waited in vain for " + what);
        return taken;
    }
}
