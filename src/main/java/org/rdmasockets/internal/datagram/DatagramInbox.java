package org.rdmasockets.internal.datagram;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.rdmasockets.internal.lock.Losses;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.sharedmemory.DatagramPorts;
import org.rdmasockets.internal.connection.InterruptibleWait;
import org.rdmasockets.internal.connection.NetErrors;
import org.rdmasockets.internal.connection.StreamOptions;
import org.rdmasockets.internal.connection.StreamOptions.Option;
import org.rdmasockets.internal.waiting.Completion;
import org.rdmasockets.internal.waiting.CompletionClient;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.internal.waiting.Role;
import org.rdmasockets.internal.waiting.WaitResult;
import org.rdmasockets.verbs.VerbsException;

/**
 * The datagrams of a socket that were not received yet: a bounded number of bytes. A receiver waits as a stream's
 * reader does, in a {@link CompletionInbox} of shared memory: so it may poll for itself what other processes send.
 */
public final class DatagramInbox implements DatagramPorts.Receiver, CompletionClient {
    private static final Object NEWS = new Object();

    /** One receiver waits at a time, the others for this. */
    private final SmallMutex receiving = new SmallMutex();
    private final SmallMutex lock = new SmallMutex();
    /** For receivers where there is no shared memory. */
    private final Condition arrived = lock.newCondition();
    private final Condition room = lock.newCondition();
    private final long roomNanos;
    /** Where receivers wait; null where there is no shared memory, and at first. */
    private volatile CompletionInbox waiting;
    private volatile int spinMicros = StreamOptions.DEFAULT.get(Option.SPIN_MICROS);
    /** Whether {@link #waiting} has {@link #NEWS} that no thread has applied since; guarded by lock. */
    private boolean told;
    /** Guarded by lock, as are all fields below. */
    private final ArrayDeque<Arrived> queue = new ArrayDeque<>();
    private long queuedBytes;
    private long mostBytes;
    private InetSocketAddress peer;
    private IOException failure;
    /** Written under lock. */
    private volatile boolean closed;
    /** Whether the peer's process has ended since the last send, and no receive has told that yet. */
    private boolean unreachable;
    /** The way of the last send; null once its end was noticed. Not guarded. */
    private volatile DatagramPorts.Route way;
    /** Whether a sender has waited in vain, and half of the room was not free since. */
    private boolean unread;
    /** The number of the thread that received last, 0 for none: it does not receive while it sends. */
    private long reader;

    /**
     * A datagram that has come: the sender that it names, its own array, the transport's name, and the task to run when
     * the application has it, or null.
     */
    public record Arrived(InetSocketAddress source, byte[] data, String transport, Runnable taken) {
        private int cost() {
            return DatagramPorts.cost(data.length);
        }
    }

    /** An empty inbox for so many bytes; one datagram always fits. */
    public DatagramInbox(int mostBytes) {
        this(mostBytes, DatagramPorts.ROOM_NANOS);
    }

    /** Likewise; a sender waits for room at most so long. */
    DatagramInbox(int mostBytes, long roomNanos) {
        this.mostBytes = mostBytes;
        this.roomNanos = roomNanos;
    }

    /** Lets receivers wait in a completion queue from now on, before the first one waits. */
    void waitIn(CompletionInbox completions) {
        waiting = completions;
        spinMicros(spinMicros);
    }

    /** How long a receiver polls for itself before it parks, in the range of {@link Option#SPIN_MICROS}. */
    public int spinMicros() {
        return spinMicros;
    }

    /** Changes that, from the next wait on. */
    public void spinMicros(int micros) {
        spinMicros = micros;
        CompletionInbox completions = waiting;
        if (completions != null) {
            completions.spinBudgetNanos((int) TimeUnit.MICROSECONDS.toNanos(micros));
        }
    }

    /** By an {@code Error} in a wait nothing is lost: all that has come is in the queue. */
    @Override
    public void apply(Completion completion) {
        lock.lock();
        try {
            told &= completion.token() != NEWS;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public boolean ready(Role role) {
        lock.lock();
        try {
            return hasNews();
        } finally {
            lock.unlock();
        }
    }

    private boolean hasNews() {
        return !queue.isEmpty() || closed || unreachable || failure != null;
    }

    @Override
    public boolean beforeExit() {
        return false;
    }

    /**
     * Wakes receivers, unless they have not heard of the last news yet. The caller has the lock, and makes the news
     * after this: so a lack of memory leaves nothing behind that no receiver is told of. Receivers poll for themselves
     * only once news {@code canBePolled}.
     */
    private void tell(boolean canBePolled) {
        CompletionInbox completions = waiting;
        if (completions == null) {
            arrived.signalAll();
        } else if (!told) {
            completions.offerToken(NEWS, canBePolled);
            told = true;
        }
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

    /** From now on takes datagrams of one sender only: the wildcard for this host, null for all; forgets others. */
    public void only(InetSocketAddress only) {
        List<Arrived> forgotten = new ArrayList<>();
        lock.lock();
        try {
            peer = only;
            unreachable = false;
            if (only != null) {
                queue.removeIf(datagram -> !isOf(only, datagram.source()) && forgotten.add(datagram));
                queuedBytes = queue.stream().mapToLong(Arrived::cost).sum();
                room.signalAll();
            }
        } finally {
            lock.unlock();
        }
        for (Arrived datagram : forgotten) {
            tellTaken(datagram);
        }
    }

    /** Whether a peer has sent something. One at the wildcard is this host: the kernel connects to its loopback. */
    private static boolean isOf(InetSocketAddress peer, InetSocketAddress source) {
        return peer.equals(source) || peer.getAddress().isAnyLocalAddress() && peer.getPort() == source.getPort()
                && source.getAddress().isLoopbackAddress();
    }

    private boolean fits(int bytes) {
        return queue.isEmpty() || queuedBytes + DatagramPorts.cost(bytes) <= mostBytes;
    }

    @Override
    public boolean hasRoom(int bytes, Runnable taken) {
        lock.lock();
        try {
            return hasRoomNow(bytes, taken);
        } finally {
            lock.unlock();
        }
    }

    /** Likewise after a wait, which ends as soon as half of the room is free. */
    @Override
    public boolean awaitRoom(int bytes, DatagramPorts.Sender sender) throws IOException {
        lock.lock();
        try {
            if (isBehind(bytes)) {
                InterruptibleWait.await(nanos -> {
                    sender.await(lock, room, () -> !isBehind(bytes), nanos);
                    return true;
                }, System.nanoTime() + roomNanos);
                if (isBehind(bytes) && sender.isClosed()) {
                    throw NetErrors.closed();
                }
                unread |= isBehind(bytes);
            }
            return hasRoomNow(bytes, null);
        } finally {
            lock.unlock();
        }
    }

    private boolean isBehind(int bytes) {
        return !fits(bytes) && !closed && !unread && reader != Thread.currentThread().threadId();
    }

    private boolean hasRoomNow(int bytes, Runnable taken) {
        boolean fits = fits(bytes);
        if (!fits && !closed) {
            Losses.datagram();
            if (taken != null) { // replaces that of the last one: the same sender has no use for it after this
                Arrived last = queue.peekLast();
                Arrived marked = new Arrived(last.source(), last.data(), last.transport(), taken);
                queue.pollLast();
                queue.add(marked);
            }
        }
        return fits && !closed;
    }

    @Override
    public void take(InetSocketAddress source, byte[] data, Runnable taken) {
        take(new Arrived(source, data, DatagramWays.SHARED_MEMORY, taken));
    }

    /** Takes a datagram, if there is room. */
    void take(Arrived datagram) {
        boolean waits = true;
        lock.lock();
        try {
            if (hasRoomNow(datagram.data().length, datagram.taken())) { // others may have come since the first look
                waits = add(datagram);
            }
        } finally {
            lock.unlock();
        }
        if (!waits) {
            tellTaken(datagram);
        }
    }

    /** Tells the sender, which then waits no longer for it. Without the lock. */
    private static void tellTaken(Arrived datagram) {
        if (datagram.taken() != null) {
            datagram.taken().run();
        }
    }

    /** Takes a datagram of UDP, in an array of its own, after a wait for room. */
    void takeFromUdp(InetSocketAddress source, byte[] data) {
        lock.lock();
        try {
            while (!closed && !fits(data.length)) {
                room.awaitUninterruptibly();
            }
            add(new Arrived(source, data, DatagramWays.UDP, null));
        } finally {
            lock.unlock();
        }
    }

    /** A datagram is about to go over shared memory: from now on this hears of the end of the process there. */
    void sendsOver(DatagramPorts.Route route) {
        if (way != route) {
            way = route;
            lock.lock();
            try {
                unreachable &= !route.destination().equals(peer); // it can be reached again
            } finally {
                lock.unlock();
            }
            if (route.hasEnded()) { // perhaps before this noted the way
                lookAgain();
            }
        }
    }

    /**
     * A connected socket that has sent to its peer hears once that the peer's process has gone, as over UDP at its next
     * send.
     */
    @Override
    public void lookAgain() {
        DatagramPorts.Route used = way;
        boolean ended = used != null && used.hasEnded();
        lock.lock();
        try {
            if (ended && way == used) {
                tell(false);
                way = null;
                unreachable = used.destination().equals(peer);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Adds a datagram; false if the socket takes none of this sender. */
    private boolean add(Arrived datagram) {
        boolean wanted = !closed && (peer == null || isOf(peer, datagram.source()));
        if (wanted) {
            if (queue.isEmpty()) {
                tell(datagram.transport().equals(DatagramWays.SHARED_MEMORY));
            }
            queue.add(datagram);
            queuedBytes += datagram.cost();
        }
        return wanted;
    }

    /** Lets receivers fail with a reason from now on, after what has come. */
    public void fail(IOException reason) {
        lock.lock();
        try {
            tell(false);
            failure = reason;
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
        CompletionInbox completions = waiting;
        if (completions != null) {
            completions.retire(); // takes no memory to wake a receiver
        }
    }

    /**
     * Receives the oldest datagram, waiting until a time of {@code System.nanoTime}, {@code Long.MAX_VALUE} for no end;
     * null at the deadline, or if this is closed. Throws the failure, or if this virtual thread was interrupted, or
     * {@code PortUnreachableException} if the peer's process has ended and nothing is left of what came before.
     */
    public Arrived receive(long deadlineNanos) throws IOException {
        Arrived datagram = await(deadlineNanos);
        if (datagram != null) {
            tellTaken(datagram);
        }
        return datagram;
    }

    private Arrived await(long deadlineNanos) throws IOException {
        Arrived datagram = poll();
        if (datagram != null || closed || !InterruptibleWait.lock(receiving, deadlineNanos)) {
            return datagram;
        }
        try {
            do {
                datagram = poll();
            } while (datagram == null && !closed && awaitNews(deadlineNanos));
            return datagram;
        } finally {
            receiving.unlock();
        }
    }

    /** Waits until there may be something new; false at the deadline. Without the lock. */
    private boolean awaitNews(long deadlineNanos) throws IOException {
        CompletionInbox completions = waiting;
        if (completions != null) {
            WaitResult end = completions.await(Role.READER, deadlineNanos);
            if (end == WaitResult.INTERRUPTED) {
                InterruptibleWait.ensureNotInterrupted();
            } else if (end == WaitResult.CLOSED && !closed) {
                fail(completions.shard().refusal(), DatagramWays.SHARED_MEMORY);
            }
            return end != WaitResult.TIMED_OUT;
        }
        lock.lock();
        try {
            return hasNews() || InterruptibleWait.await(nanos -> arrived.awaitNanos(nanos) > 0 ? true : null,
                    deadlineNanos) != null;
        } finally {
            lock.unlock();
        }
    }

    /** The oldest datagram, or null. Throws if nothing is left of what came before the end. */
    private Arrived poll() throws IOException {
        lock.lock();
        try {
            Arrived datagram = queue.poll();
            if (datagram != null) {
                reader = Thread.currentThread().threadId();
                queuedBytes -= datagram.cost();
                if (queuedBytes <= mostBytes / 2) { // not for each: a sender that is woken sends several
                    unread = false;
                    room.signalAll();
                }
            } else if (unreachable && !closed) {
                unreachable = false;
                throw new PortUnreachableException("the link to the process that had the port of " + peer
                        + " has ended, as a rule because the process has");
            } else if (failure != null && !closed) {
                throw new IOException(failure.getMessage(), failure);
            }
            return datagram;
        } finally {
            lock.unlock();
        }
    }
}
