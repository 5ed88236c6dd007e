package org.rdmasockets.internal.datagram;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import org.rdmasockets.internal.lock.Losses;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.sharedmemory.DatagramPorts;
import org.rdmasockets.internal.connection.InterruptibleWait;
import org.rdmasockets.verbs.VerbsException;

/** The datagrams of a socket that were not received yet: a bounded number of bytes. */
public final class DatagramInbox implements DatagramPorts.Receiver {
    /** A datagram takes about so much besides its data: many empty ones are bounded, too. */
    private static final int OVERHEAD_BYTES = 256;

    private final SmallMutex lock = new SmallMutex();
    private final Condition arrived = lock.newCondition();
    private final Condition room = lock.newCondition();
    /** Guarded by lock, as are all fields below. */
    private final ArrayDeque<Arrived> queue = new ArrayDeque<>();
    private long queuedBytes;
    private long mostBytes;
    private InetSocketAddress peer;
    private IOException failure;
    private boolean closed;
    /** Whether the peer's process has ended since it was sent to, and no receive has said so. */
    private boolean unreachable;
    /** The way over which was sent last; null if its end was heard of. Not guarded. */
    private volatile DatagramPorts.Route way;

    /** A datagram that has come: the sender that it names, its own array, and the transport's name. */
    public record Arrived(InetSocketAddress source, byte[] data, String transport) {
        private int cost() {
            return data.length + OVERHEAD_BYTES;
        }
    }

    /** An empty one, where so much may wait; one datagram always may. */
    public DatagramInbox(int mostBytes) {
        this.mostBytes = mostBytes;
    }

    /** Changes how much may wait; what waits stays. */
    public void mostBytes(int bytes) {
        lock.lock();
        try {
            mostBytes = bytes;
            room.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Takes datagrams of one sender only from now on, the wildcard for this host, null for all; forgets others. */
    public void only(InetSocketAddress only) {
        lock.lock();
        try {
            peer = only;
            unreachable = false;
            if (only != null) {
                queue.removeIf(datagram -> !isOf(only, datagram.source()));
                queuedBytes = queue.stream().mapToLong(Arrived::cost).sum();
                room.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether a peer has sent something. One at the wildcard is this host: the kernel connects to its loopback. */
    private static boolean isOf(InetSocketAddress peer, InetSocketAddress source) {
        return peer.equals(source) || peer.getAddress().isAnyLocalAddress() && peer.getPort() == source.getPort()
                && source.getAddress().isLoopbackAddress();
    }

    private boolean fits(int bytes) {
        return queue.isEmpty() || queuedBytes + bytes + OVERHEAD_BYTES <= mostBytes;
    }

    @Override
    public boolean hasRoom(int bytes) {
        lock.lock();
        try {
            boolean fits = fits(bytes);
            if (!fits && !closed) {
                Losses.datagram();
            }
            return fits && !closed;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void take(InetSocketAddress source, byte[] data) {
        take(source, data, DatagramWays.SHARED_MEMORY);
    }

    /** Takes a datagram, in an array of its own, if there is room; the transport is how it came. */
    void take(InetSocketAddress source, byte[] data, String transport) {
        lock.lock();
        try {
            if (fits(data.length)) { // others may have come since that was asked
                add(new Arrived(source, data, transport));
            } else if (!closed) {
                Losses.datagram();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Takes a datagram of UDP, in an array of its own, after a wait for room. */
    void takeFromUdp(InetSocketAddress source, byte[] data) {
        lock.lock();
        try {
            while (!closed && !fits(data.length)) {
                room.awaitUninterruptibly();
            }
            add(new Arrived(source, data, DatagramWays.UDP));
        } finally {
            lock.unlock();
        }
    }

    /** A datagram is about to go over shared memory: from now on the end of the process there is heard of. */
    void sendsOver(DatagramPorts.Route route) {
        if (way != route) {
            way = route;
            if (route.hasEnded()) { // perhaps before this was known
                linkEnded();
            }
        }
    }

    /** As over UDP, a socket that is connected hears that its peer's port has gone, once. */
    @Override
    public void linkEnded() {
        DatagramPorts.Route used = way;
        if (used == null || !used.hasEnded()) {
            return;
        }
        lock.lock();
        try {
            if (way == used) {
                way = null;
                unreachable = used.destination().equals(peer);
                arrived.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void add(Arrived datagram) {
        if (!closed && (peer == null || isOf(peer, datagram.source()))) {
            queue.add(datagram);
            queuedBytes += datagram.cost();
            arrived.signal();
        }
    }

    /** Lets receivers fail with a reason from now on, after what has come. */
    public void fail(IOException reason) {
        lock.lock();
        try {
            failure = reason;
            arrived.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Likewise when the poller of a transport has ended. */
    void fail(VerbsException reason, String transport) {
        fail(new IOException("datagrams over " + transport + " are received no more: " + reason.getMessage()
                + "; close this socket, and open another one with TRANSPORT udp or start the process anew", reason));
    }

    /** Lets all waiting threads go: there is nothing to receive any more. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            queue.clear();
            arrived.signalAll();
            room.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Receives the oldest datagram, waiting until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE} for no end;
     * null at the deadline, or if this is closed. Throws the failure, or if this virtual thread was interrupted, or
     * {@code PortUnreachableException} if the peer's process has ended and nothing is left of what came before.
     */
    public Arrived receive(long deadlineNanos) throws IOException {
        lock.lock();
        try {
            while (queue.isEmpty() && !closed) {
                if (unreachable) {
                    unreachable = false;
                    throw new PortUnreachableException("the process that had the port of " + peer + " has ended");
                }
                if (failure != null) {
                    throw new IOException(failure.getMessage(), failure);
                }
                if (InterruptibleWait.await(nanos -> arrived.awaitNanos(nanos) > 0 ? true : null,
                        deadlineNanos) == null) {
                    break;
                }
            }
            Arrived datagram = queue.poll();
            if (datagram != null) {
                queuedBytes -= datagram.cost();
                room.signal();
                if (!queue.isEmpty()) {
                    arrived.signal(); // the thread that was told may have been interrupted
                }
            }
            return datagram;
        } finally {
            lock.unlock();
        }
    }
}
