package org.rdmasockets.internal.datagram;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.internal.connection.InterruptibleWait;
import org.rdmasockets.internal.connection.NetErrors;
import org.rdmasockets.internal.connection.Routes;
import org.rdmasockets.internal.connection.SetupPool;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.VerbsException;

/**
 * The datagrams of one socket over RDMA devices, as rsockets has them: over UDP, with a header that names the sender's
 * queue pair, until the receiver's is known; then from queue pair to queue pair. The socket has a queue pair for each
 * address of this host from which it reaches a peer, made with the first such peer.
 */
final class IbverbsDatagrams {
    private static final Log LOG = new Log(IbverbsDatagrams.class);
    private static final LimitedLog WARNINGS = new LimitedLog(LOG);
    static final int MOST_PEERS = 8192;
    private static final int MOST_QUEUES = 16;
    /** Most address handles in the making: a device may ask the network. Others wait for their next datagram. */
    private static final int MOST_HANDLES_IN_MAKING = 4;
    /** Longest wait for a queue pair of this host: the first one loads all code. */
    private static final long OPEN_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** How long a refusal is believed. */
    private static final long REFUSED_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);

    private final InetSocketAddress local;
    private final DatagramInbox inbox;
    private final DatagramWays.Udp udp;
    private final AtomicInteger making = new AtomicInteger();
    private final AtomicLong dropped = new AtomicLong();
    /** Guarded by itself; those unused for longest are dropped. */
    private final LinkedHashMap<InetSocketAddress, DatagramPeer> peers = new LinkedHashMap<>(16, 0.75f, true);
    /** By the address of this host; guarded by itself, as is the next. */
    private final Map<InetAddress, Opening> queues = new HashMap<>();
    private boolean closed;

    /** A queue pair of this host, as soon as there is one. */
    private record Opening(CompletableFuture<DatagramQueue> queue, long sinceNanos) {
        /** Whether another one has to be made. */
        boolean isOver(long nowNanos) {
            return queue.isDone() && (queue.isCompletedExceptionally() ? nowNanos - sinceNanos > REFUSED_NANOS
                    : !queue.resultNow().isOpen());
        }
    }

    /** Takes the datagrams that queue pairs receive. */
    private final class Receiver implements DatagramQueue.Receiver {
        @Override
        public boolean hasRoom(int bytes) {
            return inbox.hasRoom(bytes, null);
        }

        @Override
        public void take(InetSocketAddress source, int queuePair, byte[] data) {
            peer(source).heard(queuePair, System.nanoTime());
            if (data != null) {
                inbox.take(new DatagramInbox.Arrived(source, data, DatagramWays.IBVERBS, null));
            }
        }

        @Override
        public void dropped() {
            drop(null);
        }

        @Override
        public void failed(VerbsException reason) {
            inbox.fail(reason, DatagramWays.IBVERBS);
        }
    }

    /** For a bound socket, which has a UDP port. */
    IbverbsDatagrams(InetSocketAddress local, DatagramInbox inbox, DatagramWays.Udp udp) {
        this.local = local;
        this.inbox = inbox;
        this.udp = udp;
    }

    /** How many arrivals only looked like rsockets' datagrams. */
    long dropped() {
        return dropped.get();
    }

    int peerCount() {
        synchronized (peers) {
            return peers.size();
        }
    }

    private void drop(InetSocketAddress source) {
        dropped.incrementAndGet();
        LOG.debug("[{}] what came from {} is no datagram of rsockets", local, source == null ? "a device" : source);
    }

    private DatagramPeer peer(InetSocketAddress address) {
        DatagramPeer evicted = null;
        DatagramPeer peer;
        synchronized (peers) {
            peer = peers.get(address);
            if (peer == null) {
                peer = new DatagramPeer(address);
                if (peers.size() >= MOST_PEERS) {
                    evicted = peers.pollFirstEntry().getValue();
                }
                peers.put(address, peer);
            }
        }
        if (evicted != null) {
            evicted.retire();
        }
        return peer;
    }

    /** Whether a peer has sent rsockets' datagrams to this socket, and still does. */
    boolean knows(InetSocketAddress address) {
        DatagramPeer peer;
        synchronized (peers) {
            peer = peers.get(address);
        }
        return peer != null && peer.isKnown(System.nanoTime());
    }

    /**
     * Takes a tagged datagram that came over UDP, in an array of its own. Unless the settings want this transport for
     * the sender, it must certainly be a message, because other programs may send anything.
     */
    void arrived(InetSocketAddress source, byte[] data, boolean expected) {
        DatagramWire.Message message = DatagramWire.read(data, source.getAddress());
        if (message == null && expected) {
            drop(source);
            return;
        }
        Opening opening = message == null || !expected && !message.isFrom(source.getAddress()) ? null : opening(source);
        if (opening == null || opening.queue().isCompletedExceptionally()) {
            inbox.takeFromUdp(source, data);
            return;
        }
        peer(source).heard(message.queuePair(), System.nanoTime());
        if (message.operation() == DatagramWire.DATA) {
            // Does not wait for room: the next datagram may name a queue pair.
            inbox.take(new DatagramInbox.Arrived(source, Arrays.copyOfRange(data, message.headerBytes(), data.length),
                    DatagramWays.UDP, null));
            opening.queue().thenAccept(queue -> tell(queue, source));
        }
    }

    /** Names to a peer that speaks rsockets' datagrams the queue pair that leads there, if there is one. */
    void offer(InetSocketAddress destination) {
        Opening opening = opening(destination);
        if (opening != null) {
            udp.startReading(); // the peer answers over UDP
            opening.queue().thenAccept(queue -> tell(queue, destination));
        }
    }

    /** Names a queue pair of this host to a peer. */
    private void tell(DatagramQueue queue, InetSocketAddress peer) {
        try {
            udp.send(DatagramWire.message(DatagramWire.CONTROL, queue.number(), queue.local.getAddress(), NOTHING),
                    peer);
        } catch (IOException e) {
            LOG.debug("[{}] {} does not hear of the queue pair now: {}", local, peer, e.toString());
        }
    }

    /** The queue pair that leads to a peer, made in the background if need be; null if there can be none. */
    private Opening opening(InetSocketAddress peer) {
        try {
            return opening(source(peer));
        } catch (IOException e) {
            LOG.debug("[{}] no route to {}: {}", local, peer, e.toString());
            return null;
        }
    }

    private InetAddress source(InetSocketAddress peer) throws IOException {
        InetAddress own = local.getAddress();
        return own.isAnyLocalAddress() ? Routes.sourceOf(peer) : own;
    }

    private void ensureOpen() throws SocketException {
        synchronized (queues) {
            if (closed) {
                throw NetErrors.closed();
            }
        }
    }

    private Opening opening(InetAddress own) throws SocketException {
        synchronized (queues) {
            ensureOpen();
            Opening found = queues.get(own);
            if (found != null && !found.isOver(System.nanoTime())) {
                return found;
            }
            if (found == null && queues.size() >= MOST_QUEUES) {
                queues.values().removeIf(o -> o.queue().isCompletedExceptionally());
            }
            if (found == null && queues.size() >= MOST_QUEUES) {
                throw new NoWay("a datagram socket has " + MOST_QUEUES + " queue pairs at most, of as many "
                        + "addresses of this host; bind it to one of them");
            }
            Opening begun = new Opening(begin(own), System.nanoTime());
            queues.put(own, begun);
            return begun;
        }
    }

    /** Begins to make a queue pair; also loads code, which the thread that reads the UDP port must not. */
    private CompletableFuture<DatagramQueue> begin(InetAddress own) {
        CompletableFuture<DatagramQueue> result = new CompletableFuture<>();
        LibraryThreads.start("rdma-datagrams", () -> {
            try {
                Engine engine = Engine.of(Providers.ibverbs());
                SetupPool.SHARED.execute(() -> {
                    try {
                        finish(result, DatagramQueue.open(engine, Providers.ibverbs(),
                                new InetSocketAddress(own, local.getPort()), new Receiver()));
                    } catch (Throwable t) {
                        result.completeExceptionally(t);
                    }
                });
            } catch (Throwable t) {
                result.completeExceptionally(t);
            }
        });
        return result;
    }

    private void finish(CompletableFuture<DatagramQueue> result, DatagramQueue opened) {
        synchronized (queues) {
            if (!closed) {
                result.complete(opened);
                return;
            }
        }
        opened.close();
        result.completeExceptionally(NetErrors.closed());
    }

    /**
     * Sends a datagram, by the queue pair if the peer's is known, else over UDP with a header. Throws if no device
     * leads there, with the reason, if it is longer than a packet, or if this virtual thread was interrupted.
     */
    DatagramWays.Sent send(InetSocketAddress destination, MemorySegment data) throws IOException {
        DatagramPeer peer = peer(destination);
        DatagramQueue queue = peer.queue();
        if (queue == null) {
            queue = await(opening(source(destination)), destination);
            peer.queue(queue);
        }
        if (data.byteSize() > queue.mostBytes()) {
            throw new TooLong("ibv_post_send: EMSGSIZE (bytes=" + data.byteSize() + ", limit=" + queue.mostBytes()
                    + "): a datagram has to fit a packet of " + queue.deviceName() + ", MTU " + queue.mtuBytes
                    + ", and of rsockets, " + DatagramWire.MOST_BYTES + ", with its header; send shorter ones, raise "
                    + "the MTU of the network interface, or let TRANSPORT be udp");
        }
        int number = peer.begin(System.nanoTime());
        if (number != 0 && queue.send(peer, number, data)) {
            return DatagramWays.Sent.OVER_IBVERBS;
        }
        ensureOpen(); // it may have waited
        udp.startReading(); // the answer names the peer's queue pair
        udp.send(DatagramWire.message(DatagramWire.DATA, queue.number(), queue.local.getAddress(), data),
                destination);
        if (peer.wantsHandle()) {
            makeHandle(peer, queue);
        }
        return DatagramWays.Sent.ASKING;
    }

    /** Longer than a packet. */
    static final class TooLong extends SocketException {
        private static final long serialVersionUID = 1L;

        TooLong(String message) {
            super(message);
        }
    }

    /** No queue pair of this host leads to a peer. */
    static final class NoWay extends SocketException {
        private static final long serialVersionUID = 1L;

        NoWay(String message) {
            super(message);
        }
    }

    private DatagramQueue await(Opening opening, InetSocketAddress destination) throws IOException {
        CompletableFuture<DatagramQueue> queue = opening.queue();
        boolean done = queue.isDone() || InterruptibleWait.await(nanos -> SetupPool.completed(queue, nanos),
                opening.sinceNanos() + OPEN_NANOS) != null;
        if (done && !queue.isCompletedExceptionally()) {
            return queue.resultNow();
        }
        ensureOpen();
        String reason = done ? queue.exceptionNow().getMessage() : "the device did not answer in time";
        throw new NoWay("no datagram to " + destination + " over ibverbs: " + reason);
    }

    /** In the background: the device may ask the network. */
    private void makeHandle(DatagramPeer peer, DatagramQueue queue) {
        if (making.incrementAndGet() > MOST_HANDLES_IN_MAKING) {
            making.decrementAndGet();
            peer.made(queue, null);
            return;
        }
        queue.execute(() -> {
            AddressHandle handle = null;
            try {
                handle = queue.handle(peer.address.getAddress());
            } catch (VerbsException e) {
                WARNINGS.warn("[{}] datagrams to {} stay on UDP: {}", local, peer.address, e.getMessage());
            } finally {
                making.decrementAndGet();
                peer.made(queue, handle);
            }
        });
    }

    /** Frees everything, in the background. */
    void close() {
        List<CompletableFuture<DatagramQueue>> open = new ArrayList<>();
        synchronized (queues) {
            closed = true;
            queues.values().forEach(opening -> open.add(opening.queue()));
        }
        for (CompletableFuture<DatagramQueue> queue : open) {
            // Sends that wait for one in the making end; it closes itself.
            if (!queue.completeExceptionally(NetErrors.closed()) && !queue.isCompletedExceptionally()) {
                queue.resultNow().close();
            }
        }
        List<DatagramPeer> all;
        synchronized (peers) {
            all = List.copyOf(peers.values());
            peers.clear();
        }
        all.forEach(DatagramPeer::retire);
    }
}
