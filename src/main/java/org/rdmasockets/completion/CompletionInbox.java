package org.rdmasockets.completion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.lock.Field;
import org.rdmasockets.lock.PlainLock;
import org.rdmasockets.log.Log;

/**
 * What has arrived for one connection, and the one reader and one writer that wait for it. Anybody may put something
 * in: leaders, the poller, the thread of connection events. Taken out under the protocol lock only, by whoever comes
 * first; that thread applies everything and wakes the other waiter if that can go on.
 *
 * <p>The protocol lock is never held across a park by this class, and must not be by others. Callers of
 * {@link #await} hold a lock of their own that admits one reader or one writer at a time.
 */
public final class CompletionInbox {
    private static final Log LOG = new Log(CompletionInbox.class);
    private static final VarHandle NEWEST = Field.of(MethodHandles.lookup(), "newest", Completion.class);
    private static final VarHandle ORPHAN_RUNNING = Field.of(MethodHandles.lookup(), "orphanRunning", boolean.class);
    private static final VarHandle FAILURE = Field.of(MethodHandles.lookup(), "failure", Throwable.class);

    private final CompletionShard shard;
    private final CompletionClient client;
    private final long workRequestIdBase;
    final int maxOutstanding;
    private final PlainLock protocolLock = new PlainLock();
    private final Waiter reader;
    /** Null until somebody waits to write; then always the same. */
    private volatile Waiter writer;
    /** What was put in and not taken out, each leads to the one before it; null if there is nothing. By NEWEST. */
    private volatile Completion newest;
    /** What was taken out and not applied, each leads to the one behind it; mostly null; guarded by protocolLock. */
    private Completion oldest;
    private volatile boolean open = true;
    private volatile int spinBudgetNanos;
    /** What the client said last; written under protocolLock, read by those who wake. */
    private volatile boolean creditOwed;
    private volatile Runnable orphanTask;
    /** When the client hears of a backlog. */
    private volatile int backlogBytes = Integer.MAX_VALUE;
    /** Bytes that were put in since the start, wrapping around; written under the shard's cqLock, read by who did. */
    private int arrivedBytes;
    /** Bytes of these that were taken in; written under protocolLock. A stale value only tells of a backlog early. */
    private int takenBytes;
    /** True since the orphan task or the client was told, until somebody drains; by ORPHAN_RUNNING. */
    private volatile boolean orphanRunning;
    /** Why nothing more will come; set once, by FAILURE. Not among the rest, so that it comes after all of it. */
    private volatile Throwable failure;
    /** How often things were taken in, each time by who enters; wrapping around; written under protocolLock. */
    private int sections;
    /** Something was applied since the last exit; guarded by protocolLock. */
    private boolean applied;
    /** Bytes have come: until then, the peer has perhaps to start who answers, and nobody looks out for that. */
    private boolean heard;
    /** True once the client knows the failure; guarded by protocolLock. */
    private boolean failureApplied;

    CompletionInbox(CompletionShard shard, CompletionClient client, long workRequestIdBase, int maxOutstanding) {
        this.shard = shard;
        this.reader = new Waiter(shard.poller.spinPolicy);
        this.client = client;
        this.workRequestIdBase = workRequestIdBase;
        this.maxOutstanding = maxOutstanding;
        this.spinBudgetNanos = shard.poller.settings.spinBudgetNanos();
    }

    /** Where the completions of this inbox come from; its queue pair is made with {@code shard().queue()}. */
    public CompletionShard shard() {
        return shard;
    }

    /**
     * The high 40 bits of the identifier of every work request whose completion belongs here; the client's bits are 0.
     * Gives generation (16 bits) and index (24 bits), shifted left by 24.
     */
    public long workRequestIdBase() {
        return workRequestIdBase;
    }

    /**
     * Changes how long a wait may poll for itself before it parks, from the next wait on: 0 to 1,000,000 nanoseconds, 0
     * to park at once. Any thread.
     */
    public void spinBudgetNanos(int nanos) {
        spinBudgetNanos = nanos;
    }

    /**
     * Takes the protocol lock and applies everything that has arrived. Must be followed by {@link #exit} in the same
     * thread; works also after {@link #close}. Not reentrant.
     */
    public void enter() {
        assert !protocolLock.isHeldByCurrentThread() : "enter is not reentrant";
        protocolLock.lock();
        takeIn(null);
    }

    /** As {@link #enter}, for the one caller that reads: {@link #awaitAndEnter} need not look at the same again. */
    public void enterToRead() {
        assert !protocolLock.isHeldByCurrentThread() : "enter is not reentrant";
        protocolLock.lock();
        takeIn(null);
        reader.section = sections;
    }

    /** Protocol lock held: applies what the waiter has polled, if anything, then all else; unlocks if that fails. */
    private void takeIn(Waiter waiter) {
        boolean entered = false;
        try {
            if (waiter != null && waiter.holds()) {
                applied = true;
                Completion only = waiter.release();
                heard |= only.isReceive();
                client.apply(only);
            }
            applyAll();
            entered = true;
        } catch (RuntimeException | Error e) {
            markFailed(e); // what was taken out is lost: this connection cannot go on
            throw e;
        } finally {
            if (!entered) {
                protocolLock.unlock();
                wakeAfterFailure();
            }
        }
    }

    /** Takes the protocol lock unless the waiter has it, and applies what that has polled, then all else. */
    private void enter(Waiter waiter) {
        assert waiter.holds() == protocolLock.isHeldByCurrentThread() : "enter is not reentrant";
        if (!waiter.holds()) {
            protocolLock.lock();
        }
        takeIn(waiter);
    }

    /** Both waiters learn what this connection has failed by; without locks, and another error changes nothing. */
    private void wakeAfterFailure() {
        VarHandle.fullFence();
        try {
            wakeFor(WakeList.BOTH);
        } catch (RuntimeException | Error e) {
            shard.poller.lookAtAll();
        }
    }

    /**
     * Gives a waiter the protocol lock and the next completion, instead of putting that in, if nothing came before; the
     * waiter enters next. The caller holds the shard's cqLock: nothing comes in between but tokens, which may do so.
     */
    boolean tryHold(Waiter waiter, Completion next) {
        if (!isEmpty() || !protocolLock.tryLock()) {
            return false;
        }
        if (isEmpty()) {
            waiter.hold(next);
        } else {
            protocolLock.unlock();
        }
        return waiter.holds();
    }

    /**
     * Releases the protocol lock and then wakes each waiter, other than the caller, whose role has become ready. If
     * something was applied and there is an orphan task, that runs as well.
     */
    public void exit() {
        Thread wakeReader = null;
        Thread wakeWriter = null;
        boolean orphan = false;
        try {
            settleCredit();
            // Lock order makes this safe: a waiter publishes itself before it takes this lock to test.
            if (reader.thread != null) {
                wakeReader = wantsWake(reader, Role.READER);
            }
            if (writer != null) {
                wakeWriter = wantsWake(writer, Role.WRITER);
            }
            orphan = applied && orphanTask != null;
            applied = false;
        } catch (RuntimeException | Error e) {
            markFailed(e);
            throw e;
        } finally {
            protocolLock.unlock();
            if (failure != null && !failureApplied) {
                wakeAfterFailure();
            }
        }
        if (wakeReader != null) {
            wake(wakeReader);
        }
        if (wakeWriter != null) {
            wake(wakeWriter);
        }
        if (orphan) {
            tell();
        }
    }

    /** The thread to wake for a role, or null; close wakes who waits for what is closing. */
    private Thread wantsWake(Waiter waiter, Role role) {
        Thread thread = waiter.thread;
        return thread != null && thread != Thread.currentThread() && open && client.ready(role) ? thread : null;
    }

    private static Thread threadOf(Waiter waiter) {
        return waiter == null ? null : waiter.thread;
    }

    /** Gives the client everything that was put in; protocolLock held. */
    private void applyAll() {
        sections++;
        if (orphanRunning) {
            // Pairs with the getAndSet in tell: who finds true there has offered before this drain.
            ORPHAN_RUNNING.getAndSet(this, false);
            VarHandle.fullFence();
        }
        for (Completion c = takeOldest(); c != null; c = takeOldest()) {
            applied = true;
            client.apply(c);
            if (c.token() == null) {
                takenBytes += c.arrivedBytes();
                heard |= c.isReceive();
                shard.recycle(c);
            }
        }
        if (failure != null && !failureApplied) {
            Completion last = new Completion(failure);
            failureApplied = true;
            applied = true;
            client.apply(last);
        }
    }

    /** Takes out what was put in first, or null; protocolLock held. */
    private Completion takeOldest() {
        if (oldest == null && newest != null) {
            oldest = Completion.reversed((Completion) NEWEST.getAndSet(this, null));
        }
        Completion taken = oldest;
        if (taken != null) {
            oldest = taken.unlink();
        }
        return taken;
    }

    /** Whether all was taken out; without protocolLock, what somebody is applying at this time may count as out. */
    private boolean isEmpty() {
        return newest == null && oldest == null;
    }

    /** Publishes whether the client owes credit; protocolLock held. */
    private void settleCredit() {
        for (boolean owed = client.creditOwed(); owed != creditOwed; owed = client.creditOwed()) {
            creditOwed = owed;
            if (owed) {
                // Pairs with the fence before the look at the waiters: a send completion that was offered before it
                // could be seen that it matters is taken in here.
                VarHandle.fullFence();
                applyAll();
            }
        }
    }

    /**
     * Waits until the client is ready for a role; as {@link #awaitAndEnter}, but outside, and the client may also
     * become ready without anybody's entering, who then unparks this thread.
     */
    public Wait await(Role role, long deadlineNanos) {
        (role == Role.READER ? reader : writer()).asks();
        Wait end = awaitAndEnter(role, deadlineNanos);
        exit();
        return end;
    }

    /**
     * Waits until the client is ready for a role, which it becomes only while somebody is inside, or until a time of
     * {@link System#nanoTime}, {@link Long#MAX_VALUE} for never, and returns as {@link #enter} does: {@link #exit} must
     * follow, however the wait ended; {@link Wait#READY} wins when several are true. At most one thread waits for a
     * role. The caller holds no lock that others need to make the client ready. First polls the completion queue for
     * itself for a while, if that is worthwhile, then parks. It parks from here, not from a method of its own: each
     * frame that is parked takes a hundred bytes of the heap.
     */
    public Wait awaitAndEnter(Role role, long deadlineNanos) {
        Waiter waiter = role == Role.READER ? reader : writer();
        Wait end = Wait.READY; // loaded while this thread has nothing in hand
        Thread me = Thread.currentThread();
        boolean arrived = false;
        boolean interrupted = false;
        boolean ended = false;
        try {
            if (comesSoon(role, waiter, deadlineNanos)) {
                ended = true;
                return end;
            }
            end = null;
            long begin = System.nanoTime();
            arrive(waiter, me);
            arrived = true;
            while (end == null) {
                end = watch(role, waiter, begin, deadlineNanos);
                if (end != null) {
                    shard.poller.watch.learn(waiter, begin, spinBudgetNanos);
                } else if (me.isVirtual() && me.isInterrupted()) {
                    end = Wait.INTERRUPTED;
                } else {
                    // A set status would make every park return at once.
                    interrupted |= !me.isVirtual() && Thread.interrupted();
                    shard.faults.beforePark();
                    if (deadlineNanos == Long.MAX_VALUE) {
                        LockSupport.park(this);
                    } else {
                        LockSupport.parkNanos(this, Wait.remaining(deadlineNanos));
                    }
                }
            }
            ended = true;
        } finally {
            if (arrived) {
                leave(waiter);
            }
            if (interrupted) {
                me.interrupt();
            }
            if (!ended) {
                giveUp(role, waiter);
            }
        }
        // Likewise, so this drains once more; who is ready has stayed inside.
        if (end != Wait.READY) {
            protocolLock.lock();
        }
        if (shard.faults.drainsWhenLeaving()) {
            takeIn(null);
        }
        return end;
    }

    /** A wait fails: it leaves if it is inside, and somebody may have woken it for the other's good. */
    private void giveUp(Role role, Waiter waiter) {
        boolean inside = protocolLock.isHeldByCurrentThread() && !waiter.holds();
        if (inside || enterIfReady(role, waiter)) {
            exit();
        }
    }

    /**
     * Takes over what the completion queue holds, unless somebody else does so, and applies what has arrived. Never
     * waits for that. The caller is the one reader: nobody waits in that role.
     */
    public void poll() {
        try {
            shard.lead(this, reader, 1);
        } finally {
            enter(reader); // what it was given it has to take in, whatever is thrown
            exit();
        }
    }

    private Waiter writer() {
        if (writer == null) {
            writer = new Waiter(shard.poller.spinPolicy); // nobody else does: there is one caller in this role
        }
        return writer;
    }

    /** Looks for what is waited for without parking; true if the role became ready, and then inside. */
    private boolean comesSoon(Role role, Waiter waiter, long deadlineNanos) {
        assert !protocolLock.isHeldByCurrentThread() : "await would sleep with the protocol lock";
        // The caller has just found nothing in the inbox; what it waits for is often in the completion queue already.
        shard.lead(this, waiter, 1);
        boolean came = waiter.holds() || !isEmpty() || failure != null;
        return came && enterIfReady(role, waiter) || open && heard && Leader.lead(this, role, waiter, deadlineNanos);
    }

    /** Applies what is there and asks whether a role is ready: then stays inside, else lets the other waiter go on. */
    boolean enterIfReady(Role role, Waiter waiter) {
        enter(waiter);
        boolean ready = false;
        try {
            waiter.section = sections;
            ready = client.ready(role);
        } finally {
            if (!ready) {
                exit();
            }
        }
        return ready;
    }

    /** Whether something may have changed since this waiter was inside; false for a moment too long at most. */
    boolean hasNews(Waiter waiter) {
        // Others write sections; the volatile reads behind it have it read anew each time.
        return waiter.holds() || sections != waiter.section || !isEmpty() || failure != null;
    }

    /**
     * Sees to it that the next completion makes an event, and looks whether the wait is over; as long as that is
     * worthwhile, sleeps and looks again. Gives how the wait ended, or null to park.
     */
    private Wait watch(Role role, Waiter waiter, long begin, long deadlineNanos) {
        Watch watch = shard.poller.watch;
        Wait end = null;
        boolean watches = true;
        while (end == null && watches) {
            watches = watch.begin(shard, waiter, begin, deadlineNanos);
            try {
                shard.armAndPoll();
                end = tryEnd(role, waiter, deadlineNanos);
                if (watches && end == null) {
                    watch.await(waiter, begin);
                    end = tryEnd(role, waiter, deadlineNanos); // before it arms again, for nothing if this is the end
                }
            } finally {
                if (watches) {
                    watch.end();
                }
            }
        }
        return end;
    }

    private void arrive(Waiter waiter, Thread me) {
        assert waiter.thread == null : "two waiters of one role";
        // Published before the look at armed: pairs with the poller, which clears armed before it looks for waiters;
        // and before the look at the inbox: pairs with the fence before the look at the waiters.
        waiter.thread = me;
        shard.arrive(waiter);
    }

    /** One test of everything that ends a wait, or null; stays inside if the role is ready. */
    private Wait tryEnd(Role role, Waiter waiter, long deadlineNanos) {
        // First the lock: who takes it after this look sees the waiter, and what was done before is seen here.
        boolean asks = waiter.asksAlways() || protocolLock.isLocked() || hasNews(waiter);
        if (asks && enterIfReady(role, waiter)) {
            return Wait.READY;
        }
        if (shard.failure() != null) {
            // Whoever saw the failure first may not have come to this inbox yet.
            fail(shard.failure());
            return enterIfReady(role, waiter) ? Wait.READY : Wait.CLOSED;
        }
        if (!open) {
            return Wait.CLOSED;
        }
        return Wait.remaining(deadlineNanos) <= 0 ? Wait.TIMED_OUT : null;
    }

    /** Withdraws a waiter. Somebody may have woken it for the other role's good just before: it enters once more. */
    private void leave(Waiter waiter) {
        shard.faults.beforeLeave();
        shard.depart();
        waiter.thread = null;
        // Pairs with the fence before the look at the waiters: who still saw this thread has offered before that entry.
        VarHandle.fullFence();
    }

    /**
     * Puts in what {@link Completion#token()} will be, not null, and wakes both waiters. Never blocks. Completions that
     * are still in the completion queue come after it; see {@link #drainThenOffer}.
     */
    public void offerToken(Object token) {
        if (token == null) {
            throw new NullPointerException("token");
        }
        put(new Completion(token));
        shard.faults.fenceBeforeWaiters();
        wakeFor(WakeList.BOTH);
    }

    /**
     * Takes over every completion that the completion queue holds at this time, for all its connections. May wait for
     * the holder of the completion queue's lock, briefly.
     */
    public void drain() {
        shard.drain();
    }

    /**
     * Takes over every completion that the completion queue holds at this time, for all its connections, and then puts
     * a token in, so that it comes after them. May wait for the holder of the completion queue's lock, briefly.
     */
    public void drainThenOffer(Object token) {
        shard.drain();
        offerToken(token);
    }

    /** Puts something in; the caller sees to the fence and the waiters. */
    void put(Completion completion) {
        if (completion.token() == null) {
            arrivedBytes += completion.arrivedBytes();
        }
        shard.faults.offer(this, completion);
    }

    /** Links something to what is there. One and the same may be there, gone and there again meanwhile: no matter. */
    void push(Completion completion) {
        Completion before;
        do {
            before = newest;
            completion.link(before);
        } while (!NEWEST.compareAndSet(this, before, completion));
    }

    /** Says once that nothing more will come, and why, after what is there already. Call without locks. */
    void fail(Throwable cause) {
        if (markFailed(cause)) {
            // Pairs with the publication in arrive, as for anything that is put in.
            VarHandle.fullFence();
            wakeFor(WakeList.BOTH);
        }
    }

    /** As {@link #fail}, but leaves the waiters to the caller; false if it has failed before. */
    boolean markFailed(Throwable cause) {
        return FAILURE.compareAndSet(this, null, cause);
    }

    /** Wakes whom a batch of completions of some kinds concerns. Call without locks and after a full fence. */
    void wakeFor(int kinds) {
        boolean wakes = open; // else close does, for good
        Thread waitingReader = wakes ? reader.thread : null;
        Thread waitingWriter = wakes ? threadOf(writer) : null;
        shard.faults.afterWaiters();
        if (waitingReader == null && waitingWriter == null) {
            if (orphanTask != null || creditOwed || arrivedBytes - takenBytes >= backlogBytes) {
                tell();
            }
        } else if ((kinds & WakeList.BOTH) != 0) {
            wake(waitingReader);
            wake(waitingWriter);
        } else if ((kinds & WakeList.RECEIVED) != 0) {
            wake(waitingReader != null ? waitingReader : waitingWriter);
        } else if (waitingWriter != null) {
            wake(waitingWriter);
        } else if (creditOwed && shard.faults.wakesForCreditOwed()) {
            wake(waitingReader);
        }
    }

    private void wake(Thread thread) {
        if (thread != null && thread != Thread.currentThread()) {
            shard.poller.wake(thread);
        }
    }

    /**
     * Lets waits that begin end with {@link Wait#CLOSED}. Parked threads sleep on until {@link #close}, which must
     * follow: so the caller can do everything else, {@link #retire} included, before it wakes them.
     */
    public void beginClose() {
        open = false;
    }

    /**
     * Lets waits end with {@link Wait#CLOSED}, the ones in progress at once. Completions are still taken in by
     * {@link #enter}, so that a lingering close can follow its last sends. Idempotent, never blocks.
     */
    public void close() {
        open = false;
        // Pairs with the publication in arrive: a waiter that is not seen here will see that this inbox is closed.
        VarHandle.fullFence();
        wake(reader.thread);
        wake(threadOf(writer));
    }

    /**
     * From now on, what arrives while nobody waits runs a task, in the thread that brought it, and now if something is
     * there already. It runs once for all that arrives until somebody calls {@link #enter}. It also runs in
     * {@link #exit} of whoever has taken something in, the task's own thread included, so that it hears of everything.
     * The task must not block or throw: it hands the work, which begins with {@code enter()} and does nothing if there
     * is nothing to do, to another thread.
     */
    public void onOrphan(Runnable task) {
        orphanTask = task;
        // Pairs with the fence before the look at the waiters: what was offered before the task could be seen is here.
        VarHandle.fullFence();
        if (!isEmpty() || failure != null) {
            tell();
        }
    }

    /**
     * Says how many bytes, at least 1, may arrive before {@link CompletionClient#onBacklog} is called if nobody waits:
     * {@code Integer.MAX_VALUE}, as in the beginning, for never. What is there already does not count.
     */
    public void backlogBytes(int bytes) {
        backlogBytes = bytes;
    }

    /** Tells of what nobody takes in, unless that has happened since somebody did. */
    private void tell() {
        if (!(boolean) ORPHAN_RUNNING.getAndSet(this, true)) {
            Runnable task = orphanTask;
            try {
                if (task != null) {
                    task.run();
                } else {
                    client.onBacklog();
                }
            } catch (RejectedExecutionException e) {
                LOG.debug("nobody is left to take in the last completions of a closed connection", e);
            } catch (Error e) {
                ORPHAN_RUNNING.setVolatile(this, false); // nobody was told
                throw e;
            }
        }
    }

    /**
     * Forgets this inbox, after {@code ibv_destroy_qp}: late completions go nowhere, and its index and its room in the
     * completion queue are free again once the queue was drained, which happens here. Closes the inbox, unless somebody
     * has begun to do so. Idempotent. <em>May block</em>: waits for the lock of the completion queue, and may destroy a
     * completion queue that has become empty.
     */
    public void retire() {
        if (open) {
            close();
        }
        shard.retire(this);
    }

    /** Whether a message of the peer was taken in. Any thread, which may hear of it late. */
    public boolean hasHeard() {
        return heard;
    }

    /** How long a wait may poll for itself. */
    int spinBudgetNanos() {
        return spinBudgetNanos;
    }

    /** Whether {@link #close} was not called. */
    boolean isOpen() {
        return open;
    }

    /** What the state is, for a person who looks for a stall. */
    @Override
    public String toString() {
        return "CompletionInbox[" + Long.toHexString(workRequestIdBase) + ", empty=" + isEmpty() + ", reader="
                + reader.thread + ", writer=" + threadOf(writer) + ", open=" + open + ", creditOwed=" + creditOwed
                + ", locked=" + protocolLock.isLocked() + ", failure=" + failure + "]";
    }
}
