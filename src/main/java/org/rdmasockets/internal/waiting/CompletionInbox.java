package org.rdmasockets.internal.waiting;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.varhandle.unpadded.MpscGrowableVarHandleUnpaddedArrayQueue;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.SmallMutex;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.lock.VarHandles;
import org.rdmasockets.internal.log.Log;

/**
 * The completions and tokens of one connection or datagram socket that are not yet applied, and the one reader and one
 * writer that wait for them. Any thread offers: leaders, the poller, the thread of connection events. A thread takes
 * them out under the protocol lock, applies all of them, and wakes the other waiter if that can go on.
 *
 * <p>No thread parks with the protocol lock. Callers of {@link #await} hold a lock of their own that admits one reader
 * or one writer at a time.
 */
public final class CompletionInbox {
    private static final Log LOG = new Log(CompletionInbox.class);
    private static final VarHandle TOLD = VarHandles.of(MethodHandles.lookup(), "told", boolean.class);
    private static final VarHandle FAILURE = VarHandles.of(MethodHandles.lookup(), "failure", Throwable.class);
    private static final int FIRST_CAPACITY = 2;
    /** Far more than a completion queue has entries. */
    private static final int MAX_CAPACITY = 1 << 24;

    private final CompletionShard shard;
    private final CompletionClient client;
    /** The place in the shard's table. */
    final int number;
    final int maxOutstanding;
    private final SmallMutex protocolLock = new SmallMutex();
    /** Any thread offers; the holder of protocolLock polls. */
    private final MpscGrowableVarHandleUnpaddedArrayQueue<Completion> arrived;
    private final Waiter reader;
    /** Null until a thread waits to write; then always the same. */
    private volatile Waiter writer;
    private volatile boolean open = true;
    private volatile int spinBudgetNanos;
    /** The last result of {@link CompletionClient#beforeExit}; written under protocolLock, read by waking threads. */
    private volatile boolean creditOwed;
    /** Whether the client hears of all that arrives while no thread waits; set once. */
    private volatile boolean tellsAll;
    /** The client hears of a backlog of this many bytes: the value of {@link #backlogBytes(int)}. */
    private volatile int backlogBytes = Integer.MAX_VALUE;
    /** Bytes that were offered since the start, wrapping around; written under the shard's cqLock. */
    private int arrivedBytes;
    /** Bytes of these that were applied; written under protocolLock. A stale value only tells of a backlog early. */
    private int takenBytes;
    /** Whether the client was told of arrivals since a thread last entered; changed by TOLD. */
    private volatile boolean told;
    /** Why nothing more will come; set once, by FAILURE. The client hears of it after all that was offered. */
    private volatile Throwable failure;
    /** How often a thread entered, wrapping around; written under protocolLock, a hint for a spinner. */
    private int entries;
    /** Something was applied since the last exit; guarded by protocolLock. */
    private boolean applied;
    /** The peer has sent something. No thread spins before that: the peer may have to start a thread first. */
    private boolean heard;
    /** The client knows the failure; guarded by protocolLock. */
    private boolean failureApplied;

    CompletionInbox(CompletionShard shard, CompletionClient client, int number, int maxOutstanding) {
        this.shard = shard;
        this.reader = new Waiter(shard.poller.spinPolicy.firstGains());
        this.client = client;
        this.number = number;
        this.maxOutstanding = maxOutstanding;
        this.arrived = new MpscGrowableVarHandleUnpaddedArrayQueue<>(FIRST_CAPACITY, MAX_CAPACITY);
        this.spinBudgetNanos = shard.poller.settings.spinBudgetNanos();
    }

    /** Where the completions of this inbox come from; its queue pair is made with {@code shard().queue()}. */
    public CompletionShard shard() {
        return shard;
    }

    /**
     * The high 32 bits of the identifier of every work request whose completion belongs here, the number of this in the
     * shard; the low 24 bits are the client's.
     */
    public long workRequestIdBase() {
        return (long) number << Integer.SIZE;
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
        protocolLock.lock();
        applyAllOrUnlock();
    }

    private void applyAllOrUnlock() {
        boolean entered = false;
        try {
            applyAll();
            entered = true;
        } catch (RuntimeException | Error e) {
            markFailed(e); // completions that were taken out are lost: this connection cannot go on
            throw e;
        } finally {
            if (!entered) {
                protocolLock.unlock();
                wakeBoth();
            }
        }
    }

    /** Gives the client everything that was offered; protocolLock held. */
    private void applyAll() {
        entries++;
        if (told) { // a volatile read, after the volatile stores of the callers and before the looks at the queue
            // Pairs with getAndSet in tell: a thread that finds true there has offered before this drain.
            TOLD.getAndSet(this, false);
        }
        for (Completion c = arrived.relaxedPoll(); c != null; c = arrived.relaxedPoll()) {
            applied = true;
            client.apply(c);
            heard |= c.isReceive;
            if (c.token == null) {
                takenBytes += c.arrivedBytes;
                shard.recycle(c);
            }
        }
        if (failure != null && !failureApplied) {
            failureApplied = true;
            applied = true;
            client.apply(new Completion(failure));
        }
    }

    /**
     * Releases the protocol lock and then wakes each waiter, other than the caller, whose role has become ready. If
     * something was applied, a client that hears of all hears of that, too.
     */
    public void exit() {
        Thread wakeReader = null;
        Thread wakeWriter = null;
        boolean tells = false;
        try {
            settleCredit();
            // Lock order makes this safe: a waiter publishes itself before it takes this lock to test.
            wakeReader = readyThread(reader, Role.READER);
            wakeWriter = readyThread(writer, Role.WRITER);
            tells = applied && tellsAll;
            applied = false;
        } catch (RuntimeException | Error e) {
            markFailed(e);
            throw e;
        } finally {
            protocolLock.unlock();
            if (failure != null && !failureApplied) {
                wakeBoth();
            }
        }
        if (wakeReader != null) {
            wake(wakeReader);
        }
        if (wakeWriter != null) {
            wake(wakeWriter);
        }
        if (tells) {
            tell();
        }
    }

    /** The other thread that waits for a role that is ready, or null; close wakes the threads that wait then. */
    private Thread readyThread(Waiter waiter, Role role) {
        Thread thread = waiter == null ? null : waiter.thread;
        return thread != null && thread != Thread.currentThread() && open && client.ready(role) ? thread : null;
    }

    private static Thread threadOf(Waiter waiter) {
        return waiter == null ? null : waiter.thread;
    }

    /** Lets the client do what the exit of a thread needs, and publishes whether it owes credit; protocolLock held. */
    private void settleCredit() {
        for (boolean owed = client.beforeExit(); owed != creditOwed; owed = client.beforeExit()) {
            creditOwed = owed; // before the look at told, as in awaitAndEnter
            if (owed) {
                applyAll(); // takes in a send completion that was offered before its thread could see that it matters
            }
        }
    }

    /** Waits until the client is ready for a role; as {@link #awaitAndEnter}, but returns outside. */
    public WaitResult await(Role role, long deadlineNanos) {
        WaitResult end = awaitAndEnter(role, deadlineNanos);
        exit();
        return end;
    }

    /**
     * Waits until the client is ready for a role, or until a time of {@link System#nanoTime}, {@link Long#MAX_VALUE}
     * for never, and returns as {@link #enter} does: {@link #exit} must follow, however the wait ended;
     * {@link WaitResult#READY} wins when several are true. A client that becomes ready without an entry unparks this
     * thread. At most one thread waits for a role. The caller holds no lock that others need to make the client ready.
     * Polls the completion queue for itself for a while, if the policy allows, and then parks. The park is in this
     * method itself: each frame of a parked thread takes a hundred bytes of the heap.
     */
    public WaitResult awaitAndEnter(Role role, long deadlineNanos) {
        assert !protocolLock.isHeldByCurrentThread() : "a wait would park with the protocol lock";
        StackRoom.ensureSection(); // before anything is changed; no more, for callers hold locks and have the rest
        Waiter waiter = role == Role.READER ? reader : writer();
        try {
            if (spin(role, waiter, deadlineNanos)) {
                return WaitResult.READY;
            }
        } catch (RuntimeException | Error e) {
            fail(e); // the polled completions may be for the other role
            throw e;
        }
        Thread me = Thread.currentThread();
        WaitResult end = null;
        boolean interrupted = false;
        assert waiter.thread == null : "two waiters of one role";
        // Before the look at the queue's armed: pairs with CompletionShard, which clears armed and reads parked. And
        // before the look at the inbox: pairs with the fence between an offer and the look at the waiters.
        waiter.thread = me;
        shard.arrive();
        try {
            while (end == null) {
                shard.armIfNeeded();
                end = tryEnd(role, deadlineNanos);
                if (end == null && me.isVirtual() && me.isInterrupted()) {
                    end = WaitResult.INTERRUPTED;
                } else if (end == null) {
                    // A set status would make every park return at once.
                    interrupted |= !me.isVirtual() && Thread.interrupted();
                    if (deadlineNanos == Long.MAX_VALUE) {
                        LockSupport.park(this);
                    } else {
                        LockSupport.parkNanos(this, NanoTimes.remaining(deadlineNanos));
                    }
                }
            }
        } catch (RuntimeException | Error e) {
            fail(e); // this thread may have taken a wake-up that was for the other role
            throw e;
        } finally {
            shard.depart();
            // This volatile store comes before the entry below, which reads told, also volatile, and then the inbox. So
            // a thread that still saw this waiter has offered before that entry, which wakes the other role if need be.
            waiter.thread = null;
            if (interrupted) {
                me.interrupt();
            }
        }
        if (end != WaitResult.READY) {
            protocolLock.lock();
        }
        applyAllOrUnlock();
        return end;
    }

    private Waiter writer() {
        if (writer == null) {
            writer = new Waiter(shard.poller.spinPolicy.firstGains()); // there is one caller in this role
        }
        return writer;
    }

    /** Polls the completion queue, once at least and for as long as the policy allows; true if ready, and inside. */
    private boolean spin(Role role, Waiter waiter, long deadlineNanos) {
        shard.lead(this, 1);
        if ((!arrived.isEmpty() || failure != null) && enterIfReady(role)) {
            return true;
        }
        SpinPolicy policy = shard.poller.spinPolicy;
        int allowed = open && heard ? spinBudgetNanos : 0;
        long budget = policy.begin(shard.side, waiter, allowed);
        if (budget == 0) {
            return false;
        }
        boolean ready = false;
        try {
            budget = Math.min(budget, NanoTimes.remaining(deadlineNanos));
            long start = System.nanoTime();
            long last = start;
            long checked = start;
            int seen = entries;
            boolean goesOn = true;
            while (goesOn) {
                shard.lead(this, SpinPolicy.LOOKS);
                long now = System.nanoTime();
                if (entries != seen || !arrived.isEmpty() || failure != null) {
                    seen = entries;
                    ready = enterIfReady(role);
                }
                goesOn = !ready && open && now - start < budget && policy.goesOn(now, checked);
                checked = now - checked >= SpinPolicy.CHECK_NANOS ? now : checked;
                last = now;
                Thread.onSpinWait();
            }
            policy.learn(waiter, ready, last - start, allowed);
        } finally {
            policy.end(shard.side);
        }
        return ready;
    }

    /** Applies what is there and asks whether a role is ready: then stays inside, else lets the other waiter go on. */
    private boolean enterIfReady(Role role) {
        enter();
        boolean ready = false;
        try {
            ready = client.ready(role);
        } finally {
            if (!ready) {
                exit();
            }
        }
        return ready;
    }

    /** One test of everything that ends a wait, or null; stays inside if the role is ready. */
    private WaitResult tryEnd(Role role, long deadlineNanos) {
        if (enterIfReady(role)) {
            return WaitResult.READY;
        }
        if (shard.failure() != null) {
            fail(shard.failure()); // the thread that saw it first may not have come to this inbox yet
            return enterIfReady(role) ? WaitResult.READY : WaitResult.CLOSED;
        }
        if (!open) {
            return WaitResult.CLOSED;
        }
        return NanoTimes.remaining(deadlineNanos) <= 0 ? WaitResult.TIMED_OUT : null;
    }

    /**
     * Takes over what the completion queue holds, unless another thread does so, and applies what has arrived. Never
     * waits for that. The caller is the one reader: no thread waits in that role.
     */
    public void poll() {
        try {
            shard.lead(this, 1);
        } finally {
            enter(); // applies what this thread was given, even after a throw
            exit();
        }
    }

    /**
     * Puts in what {@link Completion#token()} will be, not null, and wakes both waiters. Never blocks. Completions that
     * are still in the completion queue come after it; see {@link #drainThenOffer}.
     */
    public void offerToken(Object token) {
        offerToken(token, false);
    }

    /** As {@link #offerToken(Object)}; {@code isReceive} if a thread that polls the queue brings it from a peer. */
    public void offerToken(Object token, boolean isReceive) {
        if (token == null) {
            throw new NullPointerException("token");
        }
        StackRoom.ensureSection(); // an offer that was begun has to end
        put(new Completion(token, isReceive));
        shard.countIfRescue(this);
        wakeBoth();
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
            arrivedBytes += completion.arrivedBytes;
        }
        if (!arrived.offer(completion)) {
            throw new IllegalStateException(MAX_CAPACITY + " completions of a connection are not taken in");
        }
    }

    /** Fails this, once: nothing comes after what is already here. Call without locks. */
    void fail(Throwable cause) {
        markFailed(cause);
        wakeBoth(); // in any case: the shard may have failed, too
    }

    /** As {@link #fail}, but leaves the waiters to the caller; false if it has failed before. */
    boolean markFailed(Throwable cause) {
        return FAILURE.compareAndSet(this, null, cause);
    }

    /** Wakes both waiters if something is not applied yet: the thread that was to wake them may have failed. */
    void wakeIfLeftBehind() {
        if (!arrived.isEmpty() || failure != null) {
            wakeBoth();
        }
    }

    /** Wakes both waiters for something that was put in before. Call without locks. */
    private void wakeBoth() {
        // Between what was put in and the look at the waiters: pairs with awaitAndEnter, where the waiter publishes
        // itself before it looks.
        VarHandle.fullFence();
        wakeFor(WakeList.BOTH);
    }

    /** Wakes the waiters that a batch of completions of some kinds concerns. Without locks and after a full fence. */
    void wakeFor(int kinds) {
        boolean wakes = open; // else close does, for good
        Thread waitingReader = wakes ? reader.thread : null;
        Thread waitingWriter = wakes ? threadOf(writer) : null;
        if (waitingReader == null && waitingWriter == null) {
            if (tellsAll || creditOwed || arrivedBytes - takenBytes >= backlogBytes) {
                tell();
            }
        } else if ((kinds & WakeList.BOTH) != 0) {
            wake(waitingReader);
            wake(waitingWriter);
        } else if ((kinds & WakeList.RECEIVED) != 0) {
            wake(waitingReader != null ? waitingReader : waitingWriter);
        } else if (waitingWriter != null) {
            wake(waitingWriter);
        } else if (creditOwed) {
            wake(waitingReader);
        }
    }

    private void wake(Thread thread) {
        if (thread != null && thread != Thread.currentThread()) {
            shard.poller.wake(thread);
        }
    }

    /** Whether a waiter is parked here: a lease that finds a completion for it has found a lost wake-up. */
    boolean hasParked() {
        Thread waitingReader = reader.thread;
        Thread waitingWriter = threadOf(writer);
        return waitingReader != null && LockSupport.getBlocker(waitingReader) == this
                || waitingWriter != null && LockSupport.getBlocker(waitingWriter) == this;
    }

    /**
     * Lets new waits end with {@link WaitResult#CLOSED}. Parked threads sleep on until {@link #close}, which must
     * follow: so the caller can do everything else, {@link #retire} included, before it wakes them.
     */
    public void beginClose() {
        open = false;
    }

    /**
     * Lets waits end with {@link WaitResult#CLOSED}, the ones in progress at once. Completions are still applied by
     * {@link #enter}, so that a lingering close can follow its last sends. Idempotent, never blocks.
     */
    public void close() {
        // Before the looks at the waiters, all volatile: a waiter that is not seen there sees that this is closed.
        open = false;
        wake(reader.thread);
        wake(threadOf(writer));
    }

    /**
     * Calls {@link CompletionClient#onBacklog} from now on for whatever arrives while no thread waits, and now if
     * something is there already. It is also called in the {@link #exit} of any thread that has applied something, so
     * that the client hears of everything.
     */
    public void tellAll() {
        tellsAll = true;
        // Pairs with the fence before the look at the waiters: what was offered before this could be seen is here.
        VarHandle.fullFence();
        if (!arrived.isEmpty() || failure != null) {
            tell();
        }
    }

    /**
     * Says how many bytes, at least 1, may arrive before {@link CompletionClient#onBacklog} is called if no thread
     * waits: {@code Integer.MAX_VALUE}, as in the beginning, for never. Bytes that are there already cause no call
     * before more arrives.
     */
    public void backlogBytes(int bytes) {
        backlogBytes = bytes;
    }

    /** Tells the client that no thread takes arrivals out, once until a thread enters. */
    private void tell() {
        if (!(boolean) TOLD.getAndSet(this, true)) {
            try {
                client.onBacklog();
            } catch (RejectedExecutionException e) {
                LOG.debug("the last completions of a closed connection are dropped", e);
            } catch (Error e) {
                TOLD.setVolatile(this, false);
                throw e;
            }
        }
    }

    /**
     * Forgets this inbox, after {@code ibv_destroy_qp}: late completions go nowhere, and its index and its room in the
     * completion queue are free again once the queue was drained, which happens here. Closes the inbox, unless that has
     * begun. Idempotent. <em>May block</em>: waits for the lock of the completion queue, and may destroy a completion
     * queue that has become empty.
     */
    public void retire() {
        if (open) {
            close();
        }
        shard.retire(this);
    }

    /** Whether a message of the peer was applied. Any thread, which may hear of it late. */
    public boolean hasHeard() {
        return heard;
    }

    /** The state, for a person who looks for a stall. */
    @Override
    public String toString() {
        return "CompletionInbox[" + Integer.toHexString(number) + ", empty=" + arrived.isEmpty() + ", reader="
                + reader.thread + ", writer=" + threadOf(writer) + ", open=" + open + ", creditOwed=" + creditOwed
                + ", locked=" + protocolLock.isLocked() + ", failure=" + failure + "]";
    }
}
