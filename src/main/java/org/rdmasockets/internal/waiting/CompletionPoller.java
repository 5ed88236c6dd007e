package org.rdmasockets.internal.waiting;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jctools.queues.varhandle.unpadded.MpscGrowableVarHandleUnpaddedArrayQueue;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/**
 * One platform daemon thread that waits for the events of all completion channels and of all other sources that are
 * added, and looks after the shards that had one. It sleeps in one system call and costs nothing while nothing happens.
 * Any thread may call the public methods.
 *
 * <p>The thread survives every exception of an event, a task or a tick, an {@code Error} too: it logs the exception,
 * and then looks after every shard, since an event may have been lost. Only if the system call itself keeps failing
 * does it end, and then every inbox gets the reason as its last token.
 */
public final class CompletionPoller implements AutoCloseable {
    private static final Log LOG = new Log(CompletionPoller.class);
    /** How often the thread looks at a queue that it left unarmed, because threads lead there. */
    private static final long LEASE_NANOS = 10_000_000;
    private static final int NANOS_PER_MILLI = 1_000_000;
    private static final long CLOSE_NANOS = 10_000L * NANOS_PER_MILLI;
    private static final int FIRST_RELAYED = 64;
    private static final int MAX_RELAYED = 1 << 16;
    /** Failed waits in a row that end the thread. */
    private static final int MAX_FAILED_WAITS = 10;
    /** Longest pause after rounds that failed, as a power of two of milliseconds. */
    private static final int MAX_PAUSE_SHIFT = 6;

    private final EventPoller events;
    final PollerSettings settings;
    final SpinPolicy spinPolicy;
    private final WakeThrottle throttle = new WakeThrottle(System.nanoTime());
    private final Thread thread;
    private final Map<EventSource, Runnable> sources = new ConcurrentHashMap<>();
    private final Map<CompletionQueue, CompletionShard> shards = new ConcurrentHashMap<>();
    /** Guarded by its own monitor. */
    private final Map<Device, DeviceShards> devices = new HashMap<>();
    /** Null until it is set. */
    private volatile Runnable everyTick;
    /** The callbacks of {@link #onFailure}, for users without an inbox. */
    private final Set<Consumer<VerbsException>> dependants = ConcurrentHashMap.newKeySet();
    private final AtomicInteger openInboxes = new AtomicInteger();

    /** Threads for the poller to unpark; any thread offers. */
    private final MpscGrowableVarHandleUnpaddedArrayQueue<Thread> relayed
            = new MpscGrowableVarHandleUnpaddedArrayQueue<>(FIRST_RELAYED, MAX_RELAYED);
    /** Guarded by its own monitor, as is {@link #tasksRefused}. */
    private final List<Runnable> tasks = new ArrayList<>();
    private boolean tasksRefused;

    /** Shards whose event was taken in this round; poller thread only. */
    private final List<CompletionShard> signalled = new ArrayList<>();
    /** Shards left unarmed to threads that lead; poller thread only. */
    private final List<CompletionShard> leases = new ArrayList<>();
    /** When to look at the leases, and when to tick next; poller thread only. */
    private long leaseDueNanos;
    private long tickDueNanos;
    /** Whether the thread will wake by itself for a tick; written by that thread. */
    private volatile boolean ticking;
    /** Whether a tick is wanted although no inbox may be open. */
    private volatile boolean tickWanted;
    /**
     * Whether the scheduler was looked for. That happens at a tick after the first wait: it loads a hundred classes of
     * the management interface, for which a first connect shall not wait. Poller thread only.
     */
    private boolean knowsScheduler;
    /** How many rounds in a row something was thrown, and in how many the wait failed; poller thread only. */
    private int troubledRounds;
    private int failedWaits;
    private final LimitedLog trouble = new LimitedLog(LOG, 1);
    /** How often the thread was awake; written by that thread alone, others see it late. */
    private long rounds;
    /** Something was thrown, so that an event may be forgotten: every shard has to be looked after. */
    private volatile boolean looksAtAll;
    private volatile boolean closing;
    /** Why this poller does nothing any more; also set by close. */
    private volatile Throwable failure;

    /** The thread's task, and the callback of its event poller: one class, where two lambdas would be two. */
    private final class Loop implements Runnable, Consumer<EventSource> {
        @Override
        public void run() {
            CompletionPoller.this.run(this);
        }

        @Override
        public void accept(EventSource source) {
            drain(source);
        }
    }

    /** Starts the thread, which waits with events that are this poller's from now on: it closes them. */
    public CompletionPoller(EventPoller events, PollerSettings settings) {
        this.events = events;
        this.settings = settings;
        this.spinPolicy = new SpinPolicy(settings.processors(), null);
        growOnce();
        this.thread = LibraryThreads.unstarted(settings.threadName(), new Loop());
        this.thread.start();
    }

    /**
     * Lets a queue grow before any is in use. The first growth in a process links code; without memory for that it
     * fails halfway, and then each thread that offers to that queue spins for ever.
     */
    private void growOnce() {
        for (int i = 0; i <= FIRST_RELAYED; i++) {
            relayed.offer(Thread.currentThread());
        }
        for (int i = 0; i <= FIRST_RELAYED; i++) {
            relayed.relaxedPoll();
        }
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
    public void addQueue(CompletionChannel channel, Runnable task, Consumer<VerbsException> failed) {
        addSource(channel, () -> {
            try {
                channel.drainEvents(drained -> task.run());
            } catch (VerbsException e) {
                removeSource(channel); // it would be reported ready for ever
                failed.accept(e);
            }
        });
    }

    /**
     * Opens an inbox in a completion queue of a device that has room, and keeps that room, the depths of the
     * connection's send queue and receive queue together, for it; make the queue pair with {@code shard().queue()}.
     * Throws if the device has no more completion queues, or this poller has failed. <em>May block</em>.
     */
    public CompletionInbox openInbox(Device device, ConnectionRole side, CompletionClient client, int maxOutstanding)
            throws VerbsException {
        return shardsOf(device).openInbox(side, client, maxOutstanding);
    }

    DeviceShards shardsOf(Device device) throws VerbsException {
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

    /** The exception that an opener gets when the poller or its completion queue has failed. */
    static VerbsException refusal(Throwable cause) {
        VerbsException refusal = new VerbsException("completion poller", 0, "it has stopped: " + cause,
                "no more connections over this device until the process is restarted");
        refusal.initCause(cause);
        return refusal;
    }

    /**
     * Registers a callback that this poller's thread runs once if the poller fails: from then on it notices no event.
     * The callback must not block; what it throws is logged. Throws if this has failed already.
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

    /** The number of the thread. */
    public long threadId() {
        return thread.threadId();
    }

    /** How often the thread was woken, or woke by itself; may be a little late. Any thread. */
    public long wakeUps() {
        return rounds;
    }

    /** How often a waiting thread has spun so far without what it waited for. Any thread. */
    public long spinsInVain() {
        return spinPolicy.vain.get();
    }

    /** How long these spins took together, in nanoseconds. Any thread. */
    public long nanosSpunInVain() {
        return spinPolicy.vainNanos.get();
    }

    /**
     * Sets what to do now and then, on the poller's thread, while inboxes are open. It must not block; what it throws
     * is logged.
     */
    public void tick(Runnable task) {
        everyTick = task;
        events.wakeup();
    }

    /**
     * Makes one tick come, whether or not inboxes are open: work that is not possible now is done then. Never throws.
     */
    public void tickSoon() {
        tickWanted = true;
        try {
            events.wakeup();
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
        events.wakeup();
    }

    /**
     * Lets the poller's thread unpark a thread: coming from outside the scheduler of virtual threads, that lets other
     * threads from outside have their turn.
     */
    void relay(Thread parked) {
        boolean relays = false;
        try {
            StackRoom.ensureSection(); // an offer that was begun has to end; a caller that waits has room for this
            relays = relayed.offer(parked);
            if (relays) {
                events.wakeup();
            }
        } catch (Error e) { // no room or memory to grow, or to wake the poller: the thread is no less to be woken
            relays = false;
        }
        // A failure is noted before the poller's last look at the queue, so one of the two unparks.
        if (!relays || failure != null) {
            LockSupport.unpark(parked);
        }
    }

    /** Unparks a thread; the poller does it for a virtual caller while the throttle says so. Call without locks. */
    public void wake(Thread parked) {
        if (settings.valve() && Thread.currentThread().isVirtual() && throttle.relays(System.nanoTime())) {
            relay(parked);
        } else {
            LockSupport.unpark(parked);
        }
    }

    /** Lets the poller look after all shards: something was thrown, so a thread may not have armed or woken. */
    void lookAtAll() {
        looksAtAll = true;
        try {
            events.wakeup();
        } catch (Error e) {
            return; // the caller has an error of its own to throw, and the thread looks when it is woken next
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

    /** An event of a queue was made by the post of the calling thread; false leaves it to the poller's thread. */
    boolean onPost(CompletionQueue queue) {
        CompletionShard shard = shards.get(queue);
        return shard != null && shard.takeEvent();
    }

    /** Counts an inbox. The thread is not woken where it comes soon: one connection after another is the first. */
    void inboxOpened() {
        // Pairs with the end of ticking, after which the thread looks at the inboxes.
        if (openInboxes.getAndIncrement() == 0 && !ticking) {
            events.wakeup();
        }
    }

    /** Counts an inbox out. */
    void inboxRetired() {
        openInboxes.decrementAndGet();
    }

    private void run(Consumer<EventSource> drain) {
        Throwable cause = null;
        while (!closing && cause == null) {
            int troubledBefore = troubledRounds;
            try {
                events.await(timeoutMillis(), drain);
                rounds++;
                failedWaits = 0;
            } catch (Throwable e) { // the rest of the round is for others
                failedWaits += e instanceof VerbsException ? 1 : 0;
                cause = failedWaits >= MAX_FAILED_WAITS ? e : null;
                survive(e);
            }
            try {
                unparkRelayed();
                runTasks();
                serviceShards();
                runTicks();
            } catch (Throwable e) {
                survive(e);
            }
            if (troubledRounds == troubledBefore) {
                troubledRounds = 0;
            } else if (cause == null) {
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

    private void drain(EventSource source) {
        Runnable task = sources.get(source);
        if (task != null) {
            try {
                task.run();
            } catch (Throwable e) { // the other sources are looked at in this round
                survive(e);
            }
        }
    }

    /** Notes that something was thrown, which costs at most the event or task in hand. Works without memory. */
    private void survive(Throwable e) {
        looksAtAll = true;
        troubledRounds++;
        try {
            trouble.error("an event of an RDMA device could not be handled; the completion poller goes on", e);
        } catch (Throwable noMemory) {
            return; // the line is not needed
        }
    }

    /** How long to sleep: for ever, unless a lease or a tick is due. */
    private int timeoutMillis() {
        boolean wantsTick = (openInboxes.get() > 0 || tickWanted) && !(everyTick == null && knowsScheduler);
        long now = System.nanoTime();
        if (wantsTick && !ticking) {
            tickDueNanos = now + settings.tickMillis() * (long) NANOS_PER_MILLI;
            ticking = true;
        }
        if (looksAtAll) {
            return 0;
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
        // Rounded up: after a sleep that ends early there would be a busy loop.
        return (int) Math.max(0, (sleepNanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI);
    }

    private void unparkRelayed() {
        for (Thread parked = relayed.relaxedPeek(); parked != null; parked = relayed.relaxedPeek()) {
            LockSupport.unpark(parked);
            relayed.relaxedPoll(); // after an Error above the next round unparks it
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
            if (everyTick != null) {
                runLogged(everyTick);
            }
        }
    }

    private void runLogged(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) { // also no memory for a thread: the other connections go on
            survive(e);
        }
    }

    /** Looks after the shards that had an event, or whose lease has run out; not after the others. */
    private void serviceShards() {
        while (!signalled.isEmpty()) {
            service(signalled.removeLast(), true);
        }
        if (looksAtAll) {
            looksAtAll = false;
            for (CompletionShard shard : shards.values()) {
                service(shard, true);
                shard.wakeLeftBehind();
            }
        }
        if (!leases.isEmpty() && System.nanoTime() - leaseDueNanos >= 0) {
            List<CompletionShard> due = List.copyOf(leases);
            leases.clear();
            for (CompletionShard shard : due) {
                service(shard, false);
            }
        }
    }

    private void service(CompletionShard shard, boolean event) {
        boolean leased = false;
        try {
            leased = shard.service(event);
        } catch (Throwable e) { // this shard's; it is looked at again
            survive(e);
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
        events.wakeup();
        if (Thread.currentThread() != thread) {
            LibraryThreads.awaitEnd(thread, CLOSE_NANOS);
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
