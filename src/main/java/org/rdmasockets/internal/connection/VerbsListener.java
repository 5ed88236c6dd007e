package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.SequencedSet;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.VerbsException;

/**
 * Accepts connections over RDMA as they come, up to the backlog, whether or not a thread takes them. Further ones wait
 * unanswered for a free place, as over TCP, where the peer's kernel asks again. Only if thousands wait is one refused.
 *
 * <p>A connection that no thread has taken holds a place, and so does a handshake in progress, unless the peer does not
 * answer for a moment: a handshake that is never finished keeps no other peer out, and ends after a while.
 */
public final class VerbsListener<P extends Protocol> implements Listener {
    private static final Log LOG = new Log(VerbsListener.class);
    private static final int DEFAULT_BACKLOG = 50;
    /** Most that wait beyond the backlog; {@code rdma_ucm} takes less at once ({@code max_backlog}, 1,024). */
    private static final int MOST_HELD = 4096;
    /** Most of them that come from one other host. */
    private static final int MOST_HELD_OF_HOST = MOST_HELD / 2;
    /** How long a connection waits for a place before the application is told: a burst is served by then. */
    private static final long BEHIND_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How long an unfinished handshake holds a place. */
    private static final long PLACE_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** How long a handshake may take. */
    private static final long HANDSHAKE_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** Fewest handshakes that may be unfinished without a place. */
    private static final int FEWEST_STALLED = 16;
    /** How long the kernel asks for a process of another host, which may have gone without a word. */
    private static final long HELD_NANOS = TimeUnit.MINUTES.toNanos(2);

    private final LimitedLog full = new LimitedLog(LOG, 1);
    private final Engine engine;
    /** One for each address that is listened on. */
    private final List<ConnectionIdentifier> identifiers;
    /** How many of them have a device. */
    private final AtomicInteger left;
    private final InetSocketAddress local;
    private final int backlog;
    /** Gets the finished connections. */
    private final AcceptQueue<? super P> accepted;
    /** Places of the backlog that are in use; guarded by this, as the next three. */
    private int used;
    /** Connections in the queue. */
    private int queued;
    /** Requests that wait for a place, the oldest first. */
    private final SequencedSet<Arrival<P>> held = new LinkedHashSet<>();
    /** Requests that are being accepted, the oldest first. */
    private final SequencedSet<Arrival<P>> arriving = new LinkedHashSet<>();
    /** Established connections reach the queue in the order of their handshakes, as with TCP. */
    final Executor inOrder = new SerialExecutor();
    private final Protocol.Maker<P> maker;
    private final AtomicBoolean closed = new AtomicBoolean();
    /** An {@code Error} kept the next one from being accepted: the next tick accepts it. */
    private volatile boolean postponed;

    /** Will listen; backlog below 1 means 50. The identifiers are the listener's from here. */
    VerbsListener(Engine engine, List<ConnectionIdentifier> identifiers, InetSocketAddress local, int backlog,
            Protocol.Maker<P> maker, AcceptQueue<? super P> accepted) {
        this.engine = engine;
        this.identifiers = identifiers;
        left = new AtomicInteger(identifiers.size());
        this.local = local;
        this.backlog = backlog < 1 ? DEFAULT_BACKLOG : backlog;
        this.maker = maker;
        this.accepted = accepted;
    }

    /** Closes this if it cannot listen. */
    @Override
    public void start() throws IOException {
        boolean listening = false;
        accepted.join();
        engine.add(this);
        try {
            for (ConnectionIdentifier identifier : identifiers) {
                identifier.handler(this::onEvent);
                identifier.listen(MOST_HELD);
            }
            listening = true;
        } catch (VerbsException e) {
            throw NetErrors.bindFailed(local, e);
        } finally {
            if (!listening) {
                accepted.withdraw();
                close();
            }
        }
    }

    /** Poller thread. */
    private void onEvent(ConnectionIdentifier listening, ConnectionEvent event) {
        switch (event) {
            case ConnectionEvent.ConnectRequest request -> {
                Runnable next = null;
                try {
                    Arrival<P> arrival = new Arrival<>(this, engine, request);
                    Runnable acceptance = this::acceptNext;
                    Runnable refusal = arrival::refuse;
                    next = hold(arrival) ? acceptance : refusal;
                } finally {
                    if (next == null) { // the failure costs this request, which no other thread has: so this is quick
                        request.identifier().close();
                    }
                }
                try {
                    engine.perform(next);
                } catch (Error e) { // the request has been taken, and must not come again
                    acceptNextLater();
                }
            }
            case ConnectionEvent.DeviceRemoved removed -> {
                String device = listening.device() == null ? "" : " " + listening.device().info().name();
                engine.perform(listening::close);
                boolean last = left.decrementAndGet() == 0;
                LOG.warn("[{}] RDMA device{} was removed; the listener {}", local, device,
                        last ? "ends" : "goes on without it");
                if (last && stop()) {
                    accepted.leave("RDMA device" + device + " was removed");
                }
            }
            default -> LOG.debug("[{}] {}", local, event);
        }
    }

    /** Keeps a request until its turn; false if there is no place. */
    private boolean hold(Arrival<P> arrival) {
        boolean fits;
        boolean waits;
        synchronized (this) {
            fits = !closed.get() && held.size() < MOST_HELD && !takesAll(arrival);
            waits = fits && used + held.size() >= backlog;
            if (fits) {
                held.add(arrival);
            }
        }
        boolean told = false;
        try {
            if (fits && waits) {
                arrival.acknowledge();
            } else if (!fits && !closed.get()) {
                full.warn("[{}] the backlog of {} is full, and so is the queue of {} beyond it: {} is refused; call "
                        + "accept more often, or listen with a larger backlog", local, backlog, MOST_HELD, arrival);
            }
            told = true;
            return fits;
        } finally {
            if (!told) {
                synchronized (this) {
                    held.remove(arrival);
                }
            }
        }
    }

    /** Whether another host would take more than its part; the monitor is held. */
    private boolean takesAll(Arrival<P> arrival) {
        return held.size() >= MOST_HELD_OF_HOST && !arrival.isLocal()
                && held.stream().filter(arrival::isOfSameHost).count() >= MOST_HELD_OF_HOST;
    }

    /** Set-up pool: accepts the one that has waited longest, if there is a place for it. */
    private void acceptNext() {
        Arrival<P> next = null;
        boolean looked = false;
        try {
            next = takeNext();
            looked = true;
        } finally {
            if (!looked) {
                postpone();
            }
        }
        if (next != null) {
            next.accept(maker);
        }
    }

    /** Gives the oldest waiting request a place; null if there is none, or no request waits. */
    private synchronized Arrival<P> takeNext() {
        if (used >= backlog || held.isEmpty() || closed.get()) {
            return null;
        }
        Arrival<P> next = held.getFirst();
        arriving.add(next);
        held.remove(next);
        next.counted = true;
        used++;
        return next;
    }

    /** Any thread, once for each arrival: it became a connection, or null. */
    void onOutcome(Arrival<P> arrival, P connection) {
        boolean queuing = false;
        synchronized (this) {
            held.remove(arrival);
            arriving.remove(arrival);
            if (connection != null) {
                used += arrival.counted ? 0 : 1; // the peer was slow
                arrival.counted = true;
                queued++;
            }
        }
        try {
            if (connection != null) {
                accepted.add(connection, () -> leave(arrival, true));
                queuing = true;
            }
        } finally {
            if (!queuing) {
                leave(arrival, connection != null);
            }
            if (connection != null && !queuing) {
                connection.connection().abort();
            }
        }
    }

    /** Any thread: gives the place back that an arrival or its connection has, once. */
    private void leave(Arrival<P> arrival, boolean wasQueued) {
        boolean more;
        synchronized (this) {
            if (!arrival.counted) {
                return;
            }
            arrival.counted = false;
            used--;
            queued -= wasQueued ? 1 : 0;
            more = !held.isEmpty();
        }
        if (more) {
            acceptNextLater();
        }
    }

    /** Any thread, an application's too, whose stack and locks are its own. */
    private void acceptNextLater() {
        try {
            SetupPool.SHARED.execute(this::acceptNext);
        } catch (OutOfMemoryError | StackOverflowError e) {
            postpone(); // the thread that has just taken a connection must not lose it
        }
    }

    private void postpone() {
        postponed = true;
        engine.poller().tickSoon();
    }

    /** Poller thread, a few times a second while there are connections, and when something could not be done. */
    void tick(long now) {
        List<Arrival<P>> ended;
        List<Arrival<P>> waiting;
        int free = 0;
        long behindNanos = 0;
        boolean again = postponed;
        postponed = false;
        synchronized (this) {
            if (held.isEmpty() && arriving.isEmpty()) {
                return;
            }
            int usedBefore = used;
            ended = overdue(now);
            waiting = new ArrayList<>(held);
            if (again || used < usedBefore) { // else the thread that gives a place back has the next one accepted
                free = Math.min(backlog - used, held.size());
            }
            if (queued >= backlog && !held.isEmpty()) {
                behindNanos = held.getFirst().ageNanos(now);
            }
        }
        if (behindNanos > BEHIND_NANOS) {
            full.warn("[{}] the backlog of {} is full, beyond it wait {}, the first for {} ms; call accept more "
                    + "often, or listen with a larger backlog", local, backlog, waiting.size(),
                    TimeUnit.NANOSECONDS.toMillis(behindNanos));
        }
        ended.forEach(arrival -> engine.perform(arrival::discard));
        for (; free > 0; free--) {
            acceptNextLater();
        }
        waiting.forEach(Arrival::acknowledge);
    }

    /** Takes the place from handshakes that do not go on; gives what is to end. The monitor is held. */
    private List<Arrival<P>> overdue(long now) {
        int stalled = 0;
        for (Arrival<P> arrival : arriving) {
            if (arrival.counted && arrival.silentNanos(now) > PLACE_NANOS) {
                arrival.counted = false;
                used--;
            }
            stalled += arrival.counted ? 0 : 1;
        }
        List<Arrival<P>> ended = new ArrayList<>();
        int tooMany = stalled - Math.max(backlog, FEWEST_STALLED);
        for (Arrival<P> arrival : arriving) {
            if (!arrival.counted && tooMany-- > 0 || arrival.isBroken()
                    || arrival.silentNanos(now) > HANDSHAKE_NANOS) {
                ended.add(arrival);
            }
        }
        for (Arrival<P> arrival : held) {
            if (arrival.isBroken() || arrival.ageNanos(now) > HELD_NANOS && !arrival.isLocal()) {
                ended.add(arrival);
            }
        }
        return ended;
    }

    @Override
    public String transport() {
        return engine.name();
    }

    @Override
    public InetSocketAddress localAddress() {
        return local;
    }

    @Override
    public void close() {
        if (stop()) {
            identifiers.forEach(engine::release);
            List<Arrival<P>> all;
            synchronized (this) {
                all = new ArrayList<>(held);
                all.addAll(arriving);
            }
            all.forEach(arrival -> engine.perform(arrival::discard));
        }
    }

    boolean isClosed() {
        return closed.get();
    }

    /** Stops accepting; true for the first caller, which then gives the port back. */
    private boolean stop() {
        engine.remove(this);
        return closed.compareAndSet(false, true);
    }

    /** Runs tasks one after the other, in the order in which they came, on a thread that brings one. Any thread may. */
    static final class SerialExecutor implements Executor {
        /** Not yet begun; protected by this. */
        private final LinkedList<SetupPool.Task> tasks = new LinkedList<>();
        /** Whether a thread runs them; protected by this. */
        private boolean running;

        @Override
        public void execute(Runnable task) {
            SetupPool.Task added = new SetupPool.Task(task);
            synchronized (this) {
                tasks.add(added);
                if (running) {
                    return;
                }
                running = true;
            }
            boolean done = false;
            try {
                runAll();
                done = true;
            } finally {
                if (!done) { // no stack, perhaps: the next task to come runs those that are left
                    synchronized (this) {
                        running = false;
                    }
                }
            }
        }

        private void runAll() {
            for (SetupPool.Task next = next(); next != null; next = next()) {
                try {
                    next.runSurely();
                } catch (RuntimeException | Error e) { // the others are run all the same
                    SetupPool.logQuietly("a task in a row failed; its connection may be lost", e);
                }
            }
        }

        /** The oldest; null if there is none, so that this thread is through. */
        private synchronized SetupPool.Task next() {
            running = !tasks.isEmpty();
            return running ? tasks.remove() : null;
        }
    }
}
