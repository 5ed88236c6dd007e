package org.rdmasockets.internal.sharedmemory;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import org.rdmasockets.internal.lock.Losses;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.sharedmemory.link.LinkConnector;
import org.rdmasockets.internal.sharedmemory.link.Link;
import org.rdmasockets.internal.sharedmemory.link.LinkListener;
import org.rdmasockets.internal.sharedmemory.link.RingEntry;
import org.rdmasockets.internal.sharedmemory.link.RingWriter;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * The receivers of datagrams at addresses of this host, in this process and in others. A datagram is lost without
 * notice where its port has gone or has no room, and where the ring to its process is full. A sender may wait a little
 * for a receiver that keeps reading. One of this process sees its room; to another process it marks a datagram in each
 * half of a window, and the receiver sends the mark back when the application takes that one. Any thread may call
 * anything; a thread has to wait with an event poller of the provider.
 */
public final class DatagramPorts {
    /** Longest datagram, in bytes. */
    public static final int MAX_BYTES = RingWriter.MAX_PAYLOAD_BYTES - 2 * 16;
    /** Longest wait of a sender for a receiver that is behind. */
    public static final long ROOM_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** About the size of a datagram without data: so many empty ones are bounded, too. */
    private static final int OVERHEAD_BYTES = 256;
    /** The cost of datagrams on their way to another process, before a sender waits; the usual room is 208 KiB. */
    private static final int WINDOW = 128 << 10;
    private static final int PORT_MASK = 0xFFFF;
    private static final int MOST_ROUTES = 1024;
    /** How long it counts as known that no process takes datagrams at an address. */
    private static final long REFUSED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long BETWEEN_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final InetAddress WILDCARD = InetAddress.ofLiteral("0.0.0.0");

    private final SharedMemoryFabric fabric;
    /** By address, all wildcards as one. */
    private final Map<InetSocketAddress, Port> ports = new ConcurrentHashMap<>();
    private final Map<InetSocketAddress, Route> routes = new ConcurrentHashMap<>();
    private final AtomicLong dropped = new AtomicLong();
    private final SmallMutex lock = new SmallMutex();
    /** Senders to other processes wait for it: a search has ended, or there is room. */
    private final Condition news = lock.newCondition();
    /** The addresses that came last from another network namespace. */
    private volatile Between between;

    /** The addresses of a datagram, as they came. */
    record Addresses(MemorySegment bytes, int ports, InetSocketAddress destination, InetSocketAddress source) {
        boolean areOf(RingEntry entry) {
            return ports == entry.value() && bytes.byteSize() == 2L * entry.flags()
                    && MemorySegment.mismatch(bytes, 0, bytes.byteSize(), entry.memory(), entry.payloadOffset(),
                            entry.payloadOffset() + bytes.byteSize()) < 0;
        }
    }

    private record Between(InetAddress destination, InetAddress source, boolean are, long sinceNanos) {}

    /** Takes the datagrams of a port; called by any thread. */
    public interface Receiver {
        /**
         * Whether there is room, before data is copied; never waits. If false, the datagram is dropped, and
         * {@code taken}, null for nothing, runs when the application has all that came before.
         */
        boolean hasRoom(int bytes, Runnable taken);

        /**
         * As {@link #hasRoom}, for a sender of this process, after a wait of {@link #ROOM_NANOS} at most for a
         * receiver that keeps reading. Throws if this virtual thread was interrupted, or the sender is closed and there
         * is no room.
         */
        boolean awaitRoom(int bytes, Sender sender) throws IOException;

        /**
         * Takes a datagram, in an array of its own, from the address that its sender claims; without a wait.
         * {@code taken}, null for nothing, runs when the application has it.
         */
        void take(InetSocketAddress source, byte[] data, Runnable taken);

        /** A link to another process has ended, and with it the {@linkplain Route#hasEnded ways} over it. */
        void lookAgain();
    }

    /** A socket that sends: its close wakes its sends that wait, and visits no receiver but theirs. */
    public static final class Sender implements AutoCloseable {
        /** The wake-ups of sends that wait; guarded by this. */
        private final List<Runnable> wakes = new ArrayList<>(0);
        private volatile boolean closed;

        /** Whether it is closed. */
        public boolean isClosed() {
            return closed;
        }

        /**
         * Lets a send wait so many nanoseconds at most until something is reached, or this is closed; the caller holds
         * the lock of the condition.
         *
         * @return the nanoseconds that are left
         */
        public long await(SmallMutex lock, Condition news, BooleanSupplier reached, long nanos)
                throws InterruptedException {
            Runnable wake = () -> signalAll(lock, news);
            synchronized (this) {
                wakes.add(wake); // before the look at closed: pairs with close
            }
            try {
                long left = nanos;
                while (left > 0 && !reached.getAsBoolean() && !closed) {
                    left = news.awaitNanos(left);
                }
                return left;
            } finally {
                synchronized (this) {
                    wakes.remove(wake);
                }
            }
        }

        /** Wakes what waits, without a lock. */
        @Override
        public void close() {
            closed = true;
            List<Runnable> all;
            synchronized (this) {
                all = List.copyOf(wakes);
            }
            all.forEach(Runnable::run);
        }
    }

    /** A port that is taken. */
    public final class Port implements AutoCloseable {
        private final InetSocketAddress key;
        private final Receiver receiver;
        private final SharedMemoryCompletionQueue queue;
        private final LinkListener name;

        private Port(InetSocketAddress key, Receiver receiver, SharedMemoryCompletionQueue queue, LinkListener name) {
            this.key = key;
            this.receiver = receiver;
            this.queue = queue;
            this.name = name;
        }

        /** Takes nothing more. */
        @Override
        public void close() {
            name.close(); // first: an Error leaves the rest for the next close
            if (ports.remove(key, this)) {
                fabric.links.detach(queue);
            }
        }
    }

    /** The way to the process that takes datagrams at an address. */
    public final class Route implements LinkConnector.DialHandler {
        final InetSocketAddress destination;
        private final long begunNanos = System.nanoTime();
        private volatile boolean known;
        /** The outcome: a link, or a refusal; set before {@code known}. */
        LinkDispatcher end;
        private String refusal;
        private int namesGivenUp;
        private long sinceNanos;
        /** Null until the search has begun; also if that failed at once. */
        private volatile LinkConnector dial;
        /** The cost of all that was sent; written under the lock of the link's writer. */
        private volatile long sent;
        /** The cost of what the application there has taken, as far as it said; written under lock, as is the next. */
        private volatile long taken;
        /** Whether a sender has waited in vain since that last grew. */
        private volatile boolean unread;

        private Route(InetSocketAddress destination) {
            this.destination = destination;
        }

        private void search() {
            try {
                dial = fabric.links.hub().dialForDatagrams(destination, this);
            } catch (VerbsException e) {
                onFailed(e);
            } catch (Throwable e) {
                refuse("the search failed");
                throw e;
            }
        }

        @Override
        public void onLink(Link link) {
            end = (LinkDispatcher) link.handler();
            namesGivenUp = link.peerNamesGivenUp();
            known = true;
            wakeSenders();
        }

        @Override
        public void onFailed(VerbsException failure) {
            String reason = "the search failed";
            try {
                reason = failure.errno() == Errno.ECONNREFUSED
                        ? "no process that may share memory has an RDMA datagram socket there" : failure.getMessage();
            } finally {
                refuse(reason);
            }
        }

        private void refuse(String reason) {
            if (!known) { // else an Error has only kept senders from being woken
                refusal = reason;
                sinceNanos = System.nanoTime();
                known = true;
            }
            wakeSenders();
        }

        /** Whether this outcome no longer counts. */
        private boolean isOver() {
            if (!known) {
                return false;
            }
            return end != null ? !end.isOpen() || end.link.peerNamesGivenUp() != namesGivenUp
                    : System.nanoTime() - sinceNanos > REFUSED_NANOS;
        }

        /** Where it leads. */
        public InetSocketAddress destination() {
            return destination;
        }

        /**
         * Whether this led to a process whose link has ended, mostly with the process, and all that came over it is
         * here.
         */
        public boolean hasEnded() {
            return known && end != null && end.hasEnded();
        }

        /** When the search has begun, by {@code System.nanoTime}. */
        public long begunNanos() {
            return begunNanos;
        }

        /** Whether it is known if this leads anywhere. */
        public boolean isKnown() {
            return known;
        }

        /** Waits so many nanoseconds at most until that is known, or the sender is closed; true in any case. */
        public boolean await(Sender sender, long nanos) throws InterruptedException {
            lock.lock();
            try {
                sender.await(lock, news, () -> known, nanos);
                return true;
            } finally {
                lock.unlock();
            }
        }

        /** The reason why this leads nowhere now; null if it leads to a process. */
        public String refusal() {
            return !known ? "the search for a process there goes on" : refusal;
        }

        /** Whether a sender is to wait, because the receiver is behind and no sender has waited in vain for it. */
        public boolean isBehind(int bytes) {
            return sent + cost(bytes) - taken > WINDOW && !unread && end.isOpen();
        }

        /**
         * Waits at most so many nanoseconds until the receiver is not behind, or the sender is closed; always true.
         */
        public boolean awaitRoom(int bytes, Sender sender, long nanos) throws InterruptedException {
            lock.lock();
            try {
                long left = sender.await(lock, news, () -> !isBehind(bytes), nanos);
                unread |= left <= 0 && isBehind(bytes);
                return true;
            } finally {
                lock.unlock();
            }
        }

        /**
         * Counts a datagram that is about to be sent; the caller has the lock of the link's writer. Returns the mark
         * that the receiver sends back when the application takes this one, 0 for none.
         */
        long count(int bytes) {
            long before = sent;
            sent = before + cost(bytes);
            return sent / (WINDOW / 2) == before / (WINDOW / 2) ? 0 : sent;
        }

        /** The peer says how much the application there has taken; ignored if too much, or less than before. */
        void taken(long claimed) {
            lock.lock();
            try {
                if (claimed > taken && claimed <= sent) {
                    taken = claimed;
                    unread = false;
                    news.signalAll();
                }
            } finally {
                lock.unlock();
            }
        }

        /**
         * Sends a datagram of at most {@link #MAX_BYTES}, from an address of the destination's family; it may be lost.
         * Only datagrams of a sender that {@code waits} for room are counted and marked.
         */
        public void send(InetSocketAddress source, MemorySegment data, boolean waits) {
            if (!end.sendDatagram(this, source, data, waits)) {
                dropped.incrementAndGet();
                Losses.datagram();
            }
        }

        private void giveUp() {
            LinkConnector attempt = dial;
            if (attempt != null) {
                attempt.close();
            }
        }
    }

    DatagramPorts(SharedMemoryFabric fabric) {
        this.fabric = fabric;
    }

    private static InetSocketAddress key(InetSocketAddress address) {
        return address.getAddress().isAnyLocalAddress() ? new InetSocketAddress(WILDCARD, address.getPort()) : address;
    }

    /**
     * Takes a port, not 0, of an address of this host or the wildcard, among all processes of this user. A thread that
     * polls the completion queue brings what other processes send; if the queue is armed, a doorbell does. Throws
     * {@code EADDRINUSE} if another has the port, or why there is no shared memory here.
     */
    public Port open(InetSocketAddress address, Receiver receiver, CompletionQueue queue) throws VerbsException {
        SharedMemoryCompletionQueue own = (SharedMemoryCompletionQueue) queue;
        InetSocketAddress key = key(address);
        LinkListener name = fabric.links.hub().listenForDatagrams(key);
        boolean attached = false;
        boolean open = false;
        try {
            Port port = new Port(key, receiver, own, name);
            fabric.links.catchUp(); // datagrams for the port's former user in this process find no port
            fabric.links.attach(own);
            attached = true;
            ports.put(key, port);
            fabric.links.catchUp(); // for an entry that came since, which has found no armed queue
            open = true;
            return port;
        } finally {
            if (!open) {
                ports.remove(key);
                name.close();
            }
            if (attached && !open) {
                fabric.links.detach(own);
            }
        }
    }

    /** A link has ended, and says so: all that wait here look again. */
    void lookAgain() {
        try {
            for (Port port : ports.values()) {
                port.receiver.lookAgain();
            }
        } finally {
            wakeSenders();
        }
    }

    /** How many datagrams found no room. */
    long dropped() {
        return dropped.get();
    }

    private Port find(InetSocketAddress destination) {
        Port exact = ports.get(destination);
        return exact != null || ports.isEmpty() ? exact
                : ports.get(new InetSocketAddress(WILDCARD, destination.getPort()));
    }

    /** The cost of a datagram in the bytes that its receiver has room for. */
    public static int cost(int bytes) {
        return bytes + OVERHEAD_BYTES;
    }

    /**
     * Gives a datagram of at most {@link #MAX_BYTES} to a port of this process, after a wait for room until the sender
     * is closed, which is null for no wait; false if there is no such port. Throws if this virtual thread was
     * interrupted, or the sender is closed and there is no room.
     */
    public boolean sendHere(InetSocketAddress source, InetSocketAddress destination, MemorySegment data,
            Sender sender) throws IOException {
        Port port = fabric.linksOnly ? null : find(destination);
        if (port == null) {
            return false;
        }
        int bytes = (int) data.byteSize();
        if (sender == null ? port.receiver.hasRoom(bytes, null) : port.receiver.awaitRoom(bytes, sender)) {
            port.receiver.take(source, data.toArray(ValueLayout.JAVA_BYTE), null);
        } else {
            dropped.incrementAndGet();
        }
        return true;
    }

    /**
     * The way to another process, of which more may be known later; a search begins unless one has found something.
     */
    public Route route(InetSocketAddress destination) {
        Route known = routes.get(destination);
        if (known != null && !known.isOver()) {
            return known;
        }
        Route fresh = new Route(destination);
        synchronized (routes) {
            known = routes.get(destination);
            if (known != null && !known.isOver()) {
                return known;
            }
            makeRoom();
            routes.put(destination, fresh);
        }
        fresh.search();
        return fresh;
    }

    private void makeRoom() {
        if (routes.size() >= MOST_ROUTES) {
            routes.values().removeIf(Route::isOver);
        }
        if (routes.size() >= MOST_ROUTES) {
            routes.values().forEach(Route::giveUp); // threads that wait for one are told at their deadline
            routes.clear();
        }
    }

    /** Senders that wait look again. */
    private void wakeSenders() {
        signalAll(lock, news);
    }

    private static void signalAll(SmallMutex lock, Condition news) {
        lock.lock();
        try {
            news.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private static void ensureAddress(int bytes) {
        if (bytes != LocalAddresses.IPV4_BYTES && bytes != LocalAddresses.IPV6_BYTES) {
            throw new IllegalArgumentException("no address of a datagram has " + bytes + " bytes");
        }
    }

    /** Datagrams to an address of another process were taken; as {@link LinkDispatcher#TAKEN} says. */
    void onTaken(LinkDispatcher end, RingEntry entry) {
        ensureAddress(entry.payloadBytes());
        byte[] host = new byte[entry.payloadBytes()];
        MemorySegment.copy(entry.memory(), ValueLayout.JAVA_BYTE, entry.payloadOffset(), host, 0, host.length);
        Route route = routes.get(new InetSocketAddress(LocalAddresses.host(host, 0), entry.value() & PORT_MASK));
        if (route != null && route.known && route.end == end) {
            route.taken(entry.first());
        }
    }

    /**
     * Takes a datagram of another process. If that is not of this network namespace, loopback there is not loopback
     * here. Throws {@code IllegalArgumentException} if no honest process sends this.
     */
    void onDatagram(LinkDispatcher end, RingEntry entry) {
        int headerBytes = 2 * entry.flags();
        ensureAddress(entry.flags());
        int dataBytes = entry.payloadBytes() - headerBytes;
        if (dataBytes < 0 || dataBytes > MAX_BYTES) {
            throw new IllegalArgumentException("a datagram with addresses of " + entry.flags()
                    + " bytes has no length of " + entry.payloadBytes());
        }
        Addresses addresses = end.lastAddresses;
        if (addresses == null || !addresses.areOf(entry)) {
            addresses = addresses(entry);
            end.lastAddresses = addresses;
        }
        boolean meant = end.link.isNear() || areBetweenHosts(addresses.destination().getAddress(),
                addresses.source().getAddress());
        InetSocketAddress to = addresses.destination();
        Port port = meant ? find(to) : null;
        long told = entry.first();
        Runnable taken = told == 0 ? null : () -> end.sendTaken(to, told);
        if (port == null || !port.receiver.hasRoom(dataBytes, taken)) {
            dropped.incrementAndGet();
            return;
        }
        byte[] data = new byte[dataBytes];
        MemorySegment.copy(entry.memory(), ValueLayout.JAVA_BYTE, entry.payloadOffset() + headerBytes, data, 0,
                dataBytes);
        port.receiver.take(addresses.source(), data, taken);
        port.queue.broughtDatagram();
    }

    private static Addresses addresses(RingEntry entry) {
        int destinationPort = entry.value() & PORT_MASK;
        int sourcePort = entry.value() >>> Short.SIZE;
        byte[] bytes = new byte[2 * entry.flags()];
        MemorySegment.copy(entry.memory(), ValueLayout.JAVA_BYTE, entry.payloadOffset(), bytes, 0, bytes.length);
        InetAddress destination = LocalAddresses.host(Arrays.copyOf(bytes, entry.flags()), 0);
        InetAddress source = LocalAddresses.host(Arrays.copyOfRange(bytes, entry.flags(), bytes.length), 0);
        if (destinationPort == 0 || sourcePort == 0 || source.isAnyLocalAddress() || source.isMulticastAddress()) {
            throw new IllegalArgumentException("no honest process sends datagrams from port " + sourcePort + " of "
                    + source.getHostAddress() + " to port " + destinationPort);
        }
        return new Addresses(MemorySegment.ofArray(bytes), entry.value(),
                new InetSocketAddress(destination, destinationPort), new InetSocketAddress(source, sourcePort));
    }

    /** As {@link LocalAddresses#isBetweenHosts}, asked once a second for addresses that come one after another. */
    private boolean areBetweenHosts(InetAddress destination, InetAddress source) {
        long now = System.nanoTime();
        Between last = between;
        if (last == null || now - last.sinceNanos() > BETWEEN_NANOS || !last.destination().equals(destination)
                || !last.source().equals(source)) {
            last = new Between(destination, source, LocalAddresses.isBetweenHosts(destination, source), now);
            between = last;
        }
        return last.are();
    }
}
