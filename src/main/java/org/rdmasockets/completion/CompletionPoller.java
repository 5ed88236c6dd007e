package org.rdmasockets.completion;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jctools.queues.varhandle.MpscGrowableVarHandleArrayQueue;
import org.rdmasockets.lock.OwnThread;
import org.rdmasockets.log.Log;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/**
 * One platform daemon thread that waits for the events of all completion channels, and of whatever else is added, and
 * looks after the shards that had one. It sleeps in one system call and costs nothing while nothing happens. Any
 * thread may call the public methods.
 *
 * <p>The thread survives whatever an event, a task or a tick throws, an {@code Error} too: it says so, and afterwards
 * looks after every shard, since what it was told may be forgotten. Only if the system call itself keeps failing does
 * it end, and then every inbox gets the reason as its last token.
 */
public final class CompletionPoller implements AutoCloseable {
    private static final Log LOG = new Log(CompletionPoller.class);
    private static final long LEASE_NANOS = 10_000_000;
    private static final int NANOS_PER_MILLI = 1_000_000;
    private static final long CLOSE_NANOS = 10_000L * NANOS_PER_MILLI;
    /** Trouble is logged once in this time. */
    private static final long LOG_NANOS = 1_000_000_000;
    private static final int MAX_RELAYED = 1 << 16;
    /** So many failed waits in a row end the thread. */
    private static final int MAX_FAILED_WAITS = 10;
    /** The thread's work of each round, by {@link #step}. */
    private static final int STEPS = 5;
    /** Longest pause after rounds that failed, as a power of two of milliseconds. */
    private static final int MAX_PAUSE_SHIFT = 6;

    private final EventPoller events;
    final PollerSettings settings;
    final Faults faults;
    final SpinPolicy spinPolicy;
    final Watch watch;
    private final Valve valve = new Valve(System.nanoTime());
    private final Thread thread;
    private final Map<EventSource, Runnable> sources = new ConcurrentHashMap<>();
    private final Map<CompletionQueue, CompletionShard> shards = new ConcurrentHashMap<>();
    /** Queues that have no inboxes, and what takes their completions. */
    private final Map<CompletionQueue, Runnable> others = new ConcurrentHashMap<>();
    /** Guarded by its own monitor. */
    private final Map<Device, DeviceShards> devices = new HashMap<>();
    private final List<Runnable> ticks = new CopyOnWriteArrayList<>();
    /** Those that have no inbox, and hear of the end all the same. */
    private final Set<Consumer<VerbsException>> dependants = ConcurrentHashMap.newKeySet();
    private final AtomicInteger openInboxes = new AtomicInteger();

    /** A wake-up of the thread is on its way; cleared by the thread before it looks at the queues. */
    private final AtomicBoolean nudged = new AtomicBoolean();
    /** Null until a thread is relayed: a first connect need not load it. Set under the monitor of tasks. */
    private volatile Relayed relayed;
    /** The shard that was kicked last, which leads to those kicked before. */
    private final AtomicReference<CompletionShard> kicked = new AtomicReference<>();
    /** Those that were taken from there and have not had their turn; poller thread only. */
    private CompletionShard nextKicked;
    /** Guarded by its own monitor, as is {@link #tasksRefused}. */
    private final List<Runnable> tasks = new ArrayList<>();
    private boolean tasksRefused;

    /** Shards whose event was taken in this round; poller thread only. */
    private final List<CompletionShard> signalled = new ArrayList<>();
    /** Shards left unarmed to their leaders; poller thread only. */
    private final List<CompletionShard> leases = new ArrayList<>();
    /** When to look at the leases, and when to tick next; poller thread only. */
    private long leaseDueNanos;
    private long tickDueNanos;
    /** Whether the thread will wake for a tick by itself; written by that thread. */
    private volatile boolean ticking;
    /** Whether somebody wants a tick although no inbox may be open. */
    private volatile boolean tickWanted;
    /**
     * Whether the scheduler was looked for: at a tick after the first wait, because that loads a hundred classes of the
     * management interface, which a first connect shall not wait for. Poller thread only.
     */
    private boolean knowsScheduler;
    /** Whether a queue's event is being handled; poller thread only. */
    private boolean handlesEvent;
    /** How many rounds in a row something was thrown, and in how many the wait failed; poller thread only. */
    private int troubledRounds;
    private int failedWaits;
    /** When trouble was last logged, and how often it was not since; poller thread only. */
    private long loggedNanos = System.nanoTime() - LOG_NANOS;
    private int unlogged;
    private final Consumer<EventSource> drain;
    /** An event or a kick may be forgotten: every shard wants to be looked after. */
    private volatile boolean looksAtAll;

    /** What the thread runs and what it waits with calls: one class, where two lambdas would be two. */
    private final class Loop implements Runnable, Consumer<EventSource> {
        @Override
        public void run() {
            CompletionPoller.this.run();
        }

        @Override
        public void accept(EventSource source) {
            drain(source);
        }
    }

    /** Threads for the poller's to unpark. */
    private static final class Relayed {
        private final MpscGrowableVarHandleArrayQueue<Thread> threads
                = new MpscGrowableVarHandleArrayQueue<>(64, MAX_RELAYED);
    }

    private volatile boolean closing;
    /** Why this poller does nothing any more; also set by close. */
    private volatile Throwable failure;

    /** Starts the thread, which waits with events that are this poller's from now on: it closes them. */
    public CompletionPoller(EventPoller events, PollerSettings settings) {
        this(events, settings, Faults.NONE);
    }

    CompletionPoller(EventPoller events, PollerSettings settings, Faults faults) {
        this.events = events;
        this.settings = settings;
        this.faults = faults;
        this.spinPolicy = new SpinPolicy(settings, null);
        this.watch = new Watch(events, spinPolicy, settings.watchMillis() * (long) NANOS_PER_MILLI, faults, this);
        Loop loop = new Loop();
        this.drain = loop;
        this.thread = OwnThread.unstarted(settings.threadName(), loop);
        this.thread.start();
    }

    /** Why this poller does nothing any more, or null while it works. */
    Throwable failure() {
        return failure;
    }

    /**
     * Adds something else to wait for, such as a connection manager or a device's asynchronous events. The drain takes
     * all events of the source, on the poller's thread, and must not block; what it throws is logged, and it is called
     * again while the source is ready.
     */
    public void addSource(EventSource source, Runnable drain) {
        sources.put(source, drain);
        events.add(source);
    }

    /** Ends waiting for a source, if it was added; its drain may still run once. */
    public void removeSource(EventSource source) {
        events.remove(source);
        sources.remove(source);
    }

    /**
     * Adds a completion queue that has no inboxes, alone on its channel. The task arms the queue and takes its
     * completions, on the poller's thread, and must not block; what it throws is logged. If the channel fails, nothing
     * is waited for any more, and the last argument is told so on that thread.
     */
    public void addQueue(CompletionChannel channel, CompletionQueue queue, Runnable task,
            Consumer<VerbsException> failed) {
        others.put(queue, task);
        addSource(channel, () -> {
            try {
                channel.drainEvents(drained -> task.run());
            } catch (VerbsException e) {
                removeQueue(channel, queue); // it would be reported ready for ever
                failed.accept(e);
            }
        });
    }

    /** Ends waiting for a queue, if it was added; its task may still run once. */
    public void removeQueue(CompletionChannel channel, CompletionQueue queue) {
        removeSource(channel);
        others.remove(queue);
    }

    /**
     * Finds or makes a completion queue of a device with room for so many completions. Others may take the room
     * meanwhile, and then {@link CompletionShard#openInbox} refuses; {@link #openInbox} does both without that gap.
     * Throws if the device has no more completion queues, or this poller has failed. <em>May block</em>.
     */
    public CompletionShard shard(Device device, Side side, int entriesNeeded) throws VerbsException {
        return shardsOf(device).find(side, entriesNeeded);
    }

    /**
     * Opens an inbox in a completion queue of a device that has room, and keeps that room, the depths of the
     * connection's send queue and receive queue together, for it; make the queue pair with {@code shard().queue()}.
     * Throws if the device has no more completion queues, or this poller has failed. <em>May block</em>.
     */
    public CompletionInbox openInbox(Device device, Side side, CompletionClient client, int maxOutstanding)
            throws VerbsException {
        return shardsOf(device).openInbox(side, client, maxOutstanding);
    }

    private DeviceShards shardsOf(Device device) throws VerbsException {
        synchronized (devices) {
            if (failure != null) {
                throw refusal(failure);
            }
            DeviceShards found = devices.get(device);
            if (found == null) {
                found = new DeviceShards(this, device);
                devices.put(device, found);
            }
            return found;
        }
    }

    /** What an opener gets when the poller or its completion queue has failed. */
    static VerbsException refusal(Throwable cause) {
        VerbsException refusal = new VerbsException("completion poller", 0, "it has stopped: " + cause,
                "no more connections over this device until the process is restarted");
        refusal.initCause(cause);
        return refusal;
    }

    /**
     * Has somebody told if this poller fails, once, on its thread: nothing that it waited for is noticed from then on.
     * Must not block; what it throws is logged. Throws if this has failed already.
     */
    public void onFailure(Consumer<VerbsException> told) throws VerbsException {
        dependants.add(told);
        // The failure is noted before the dependants are told, so one of the two removes it.
        if (failure != null && dependants.remove(told)) {
            throw refusal(failure);
        }
    }

    /** Ends what {@link #onFailure} began. */
    public void forget(Consumer<VerbsException> told) {
        dependants.remove(told);
    }

    /**
     * Adds something to do now and then, on the poller's thread, while inboxes are open. It must not block; what it
     * throws is logged.
     */
    public void tick(Runnable everyTick) {
        ticks.add(everyTick);
        nudge();
    }

    /** Has one tick come, whether or not inboxes are open: what could not be done now is done then. Never throws. */
    public void tickSoon() {
        tickWanted = true;
        try {
            nudge();
        } catch (Error e) {
            return; // the thread sees it when it is woken next
        }
    }

    /**
     * Runs something once on the poller's thread. It must not block; what it throws is logged. Throws
     * {@code RejectedExecutionException} if the poller has failed or is closed.
     */
    public void execute(Runnable task) {
        synchronized (tasks) {
            if (tasksRefused) {
                throw new RejectedExecutionException("the completion poller has stopped", failure);
            }
            tasks.add(task);
        }
        nudge();
    }

    /**
     * Lets the poller's thread unpark a thread: coming from outside the scheduler of virtual threads, that lets other
     * threads from outside have their turn.
     */
    public void relay(Thread parked) {
        boolean relays = false;
        try {
            relays = relayed().threads.offer(parked);
            if (relays) {
                nudge();
            }
        } catch (Error e) { // no memory to grow, or to wake the poller: the thread is no less to be woken
            relays = false;
        }
        // A failure is noted before the poller's last look at the queue, so one of the two unparks.
        if (!relays || failure != null) {
            unpark(parked);
        }
    }

    private Relayed relayed() {
        if (relayed == null) {
            synchronized (tasks) {
                relayed = relayed == null ? new Relayed() : relayed;
            }
        }
        return relayed;
    }

    /**
     * Waits for a moment beside the poller's thread, instead of parking, for something that the caller is woken for by
     * {@link #wake}: false if it had better park. It looks again afterwards.
     *
     * @param sinceNanos when its wait has begun, by {@code System.nanoTime}
     * @param leftNanos how long it may last
     * @param over whether it is over
     */
    public boolean awaitBeside(long sinceNanos, long leftNanos, BooleanSupplier over) {
        return watch.await(sinceNanos, leftNanos, over);
    }

    /** Notes how long a wait has taken that was, or could have been, one of {@link #awaitBeside}. */
    public void waited(long nanos) {
        watch.learn(nanos);
    }

    /**
     * Unparks a thread, or ends its {@link #awaitBeside}; the poller does it while the valve is open and the caller is
     * virtual. Call without locks.
     */
    public void wake(Thread parked) {
        if (settings.valve() && Thread.currentThread().isVirtual() && valve.admits(System.nanoTime())) {
            relay(parked);
        } else {
            unpark(parked);
        }
    }

    private void unpark(Thread parked) {
        if (!watch.wake(parked, Thread.currentThread() == thread && handlesEvent)) {
            LockSupport.unpark(parked);
        }
    }

    /** Lets the poller look after a shard that had no event. */
    void kick(CompletionShard shard) {
        if (shard.markKicked()) {
            CompletionShard before;
            do {
                before = kicked.get();
                shard.kickedBefore = before;
            } while (!kicked.compareAndSet(before, shard));
            nudge();
        }
    }

    /** Lets the poller look after all shards: something was thrown, so who has to arm, or to wake, may not have. */
    void lookAtAll() {
        looksAtAll = true;
        nudge();
    }

    /** Ends the wait of the poller's thread, or its next one. */
    private void nudge() {
        // Pairs with the getAndSet in run: who finds true here has offered before the thread looks at the queues.
        if (!nudged.getAndSet(true)) {
            boolean woken = false;
            try {
                events.wakeup();
                woken = true;
            } finally {
                nudged.compareAndSet(!woken, false); // the next one tries again
            }
        }
    }

    /** Makes the events of a new shard known. */
    void register(CompletionShard shard) {
        shards.put(shard.queue(), shard);
    }

    /** Forgets the events of a shard. */
    void unregister(CompletionShard shard) {
        shards.remove(shard.queue());
    }

    /** An event of a queue was taken from its channel. Poller thread only. */
    void onEvent(CompletionQueue queue) {
        CompletionShard shard = shards.get(queue);
        if (shard != null) {
            signalled.add(shard);
        }
    }

    /** An event of a queue was taken from its channel by a waiter that waits beside the thread. */
    void onEventBeside(CompletionQueue queue) {
        CompletionShard shard = shards.get(queue);
        if (shard != null) {
            shard.takeEventForWaiter(watch.isAt(shard));
            return;
        }
        Runnable task = others.get(queue);
        if (task != null) {
            execute(task);
        }
    }

    /** An event of a queue was made by the post of the calling thread; false leaves it to the poller's thread. */
    boolean onPost(CompletionQueue queue) {
        CompletionShard shard = shards.get(queue);
        return shard != null && shard.takeEvent();
    }

    /** Counts an inbox. The thread is not woken where it comes soon: one connection after another is the first. */
    void inboxOpened() {
        // Pairs with the end of ticking, after which the thread looks at the inboxes.
        if (openInboxes.getAndIncrement() == 0 && !ticking) {
            nudge();
        }
    }

    /** Counts an inbox out. */
    void inboxRetired() {
        openInboxes.decrementAndGet();
    }

    private void run() {
        Throwable cause = null;
        while (!closing && cause == null) {
            boolean troubled = false;
            for (int step = 0; step < STEPS && cause == null; step++) {
                try {
                    step(step);
                } catch (Throwable e) {
                    troubled = true;
                    cause = survive(step, e);
                }
            }
            troubledRounds = troubled ? troubledRounds + 1 : 0;
            if (troubled && cause == null) {
                // Out of memory for a while, or a source that fails and stays ready: no busy loop.
                LockSupport.parkNanos((long) NANOS_PER_MILLI << Math.min(troubledRounds, MAX_PAUSE_SHIFT));
            }
        }
        try {
            stop(cause != null ? cause : new IllegalStateException("the completion poller is closed"));
        } finally {
            if (cause != null) {
                LOG.error("the completion poller has failed; all RDMA connections of this process fail", cause);
            }
        }
    }

    private void step(int step) throws VerbsException {
        switch (step) {
            case 0 -> {
                events.await(timeoutMillis(), drain);
                failedWaits = 0;
            }
            case 1 -> {
                // Before the look at the queues; pairs with nudge.
                nudged.getAndSet(false);
                unparkRelayed();
            }
            case 2 -> runTasks();
            case 3 -> serviceShards();
            default -> runTicks();
        }
    }

    private void drain(EventSource source) {
        Runnable task = sources.get(source);
        if (task != null) {
            try {
                task.run();
            } catch (Throwable e) { // the other sources are looked at in this round
                troubledRounds++;
                survive(STEPS, e);
            }
        }
    }

    /**
     * Notes that something was thrown, which costs at most what it was thrown at. Allocates nothing that it needs. Null
     * to go on, or why this thread has to end.
     */
    private Throwable survive(int step, Throwable e) {
        looksAtAll = true;
        if (step == 0 && e instanceof VerbsException && ++failedWaits >= MAX_FAILED_WAITS) {
            return e;
        }
        long now = System.nanoTime();
        if (now - loggedNanos < LOG_NANOS) {
            unlogged++;
            return null;
        }
        try {
            LOG.error("an event of an RDMA device could not be handled; the completion poller goes on ({} more since "
                    + "the last such line)", unlogged, e);
            loggedNanos = now;
            unlogged = 0;
        } catch (Throwable noMemory) {
            unlogged++;
        }
        return null;
    }

    /** How long to sleep: for ever, unless a lease or a tick is due. */
    private int timeoutMillis() {
        boolean wantsTick = (openInboxes.get() > 0 || tickWanted) && !(ticks.isEmpty() && knowsScheduler);
        long now = System.nanoTime();
        if (wantsTick && !ticking) {
            tickDueNanos = now + settings.tickMillis() * (long) NANOS_PER_MILLI;
            ticking = true;
        }
        if (looksAtAll) {
            return 0; // something was thrown, and perhaps before the shards that were kicked had their turn
        }
        long sleepNanos = Long.MAX_VALUE;
        if (ticking) {
            sleepNanos = tickDueNanos - now;
        }
        if (!leases.isEmpty()) {
            sleepNanos = Math.min(sleepNanos, leaseDueNanos - now);
        }
        if (sleepNanos == Long.MAX_VALUE) {
            return -1;
        }
        // Rounded up: a sleep that ends early would be followed by a busy loop.
        return (int) Math.max(0, (sleepNanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI);
    }

    private void unparkRelayed() {
        Relayed some = relayed;
        for (Thread parked = some == null ? null : some.threads.relaxedPoll(); parked != null;
                parked = some.threads.relaxedPoll()) {
            unpark(parked);
        }
    }

    private void runTasks() {
        List<Runnable> due;
        synchronized (tasks) {
            if (tasks.isEmpty()) {
                return;
            }
            due = List.copyOf(tasks);
            tasks.clear();
        }
        for (Runnable task : due) {
            runLogged(task);
        }
    }

    private void runTicks() {
        if (ticking && System.nanoTime() - tickDueNanos >= 0) {
            ticking = false; // until the next look at the inboxes
            tickWanted = false;
            if (!knowsScheduler && spinPolicy.isAsked()) {
                knowsScheduler = true;
                spinPolicy.ask(SchedulerQueue.find());
            }
            for (Runnable everyTick : ticks) {
                runLogged(everyTick);
            }
        }
    }

    private void runLogged(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) { // also no memory for a thread: the other connections go on
            survive(STEPS, e);
        }
    }

    /** Looks after the shards that had an event, were kicked, or whose lease has run out; not after the others. */
    private void serviceShards() {
        while (!signalled.isEmpty()) {
            service(signalled.removeLast(), true);
        }
        if (looksAtAll) {
            looksAtAll = false;
            for (CompletionShard shard : shards.values()) {
                service(shard, true);
            }
        }
        // Not those kicked meanwhile: a queue that is always full must not keep the thread from everything else.
        nextKicked = nextKicked == null ? kicked.getAndSet(null) : nextKicked;
        while (nextKicked != null) {
            CompletionShard shard = nextKicked;
            nextKicked = shard.kickedBefore;
            shard.kickedBefore = null;
            shard.clearKicked();
            service(shard, false);
        }
        if (!leases.isEmpty() && System.nanoTime() - leaseDueNanos >= 0) {
            leaseDueNanos = System.nanoTime() + LEASE_NANOS;
            for (int i = leases.size() - 1; i >= 0; i--) {
                if (!leases.get(i).service(false)) {
                    leases.remove(i);
                }
            }
        }
    }

    private void service(CompletionShard shard, boolean event) {
        handlesEvent = event;
        boolean leased = false;
        try {
            leased = shard.service(event);
        } catch (Throwable e) { // this shard's; it is looked at again
            troubledRounds++;
            survive(STEPS, e);
        } finally {
            handlesEvent = false;
        }
        if (leased && !leases.contains(shard)) {
            if (leases.isEmpty()) {
                leaseDueNanos = System.nanoTime() + LEASE_NANOS;
            }
            leases.add(shard);
        }
    }

    /**
     * Notes that a completion queue of this poller has lost completions: its inboxes fail with the cause, and it gets
     * no further ones.
     */
    public void failQueue(CompletionQueue queue, Throwable cause) {
        CompletionShard shard = shards.get(queue);
        if (shard != null) {
            shard.fail(cause);
        }
    }

    /** Says once that a completion queue has failed. */
    void reportShardFailure(CompletionShard shard, Throwable cause) {
        if (shards.remove(shard.queue()) != null && cause != failure) {
            LOG.error("a completion queue has failed; its RDMA connections fail", cause);
        }
    }

    /** Ends everything: poller thread, last act. */
    private void stop(Throwable cause) {
        failure = cause;
        List<DeviceShards> all;
        synchronized (devices) {
            all = List.copyOf(devices.values());
        }
        synchronized (tasks) {
            tasksRefused = true;
        }
        for (DeviceShards shardsOfDevice : all) {
            shardsOfDevice.failAll(cause);
        }
        for (Consumer<VerbsException> one : dependants) {
            if (dependants.remove(one)) {
                runLogged(() -> one.accept(refusal(cause)));
            }
        }
        runTasks();
        unparkRelayed();
    }

    /**
     * Ends the thread, fails the inboxes that are open, and destroys the completion queues and channels that no queue
     * pair uses. Idempotent. <em>May block</em>, for seconds at most.
     */
    @Override
    public void close() {
        closing = true;
        nudge();
        if (Thread.currentThread() != thread) {
            OwnThread.awaitEnd(thread, CLOSE_NANOS);
        }
        List<DeviceShards> all;
        synchronized (devices) {
            all = List.copyOf(devices.values());
            devices.clear();
        }
        all.forEach(DeviceShards::close);
        events.close();
    }
}
