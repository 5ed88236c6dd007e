package org.rdmasockets.internal.waiting;

import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import org.jctools.queues.varhandle.unpadded.MpscGrowableVarHandleUnpaddedArrayQueue;
import org.rdmasockets.internal.lock.HandleTable;
import org.rdmasockets.internal.lock.Padded;
import org.rdmasockets.internal.lock.PaddedLock;
import org.rdmasockets.internal.lock.Rescues;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * One completion queue and the inboxes it serves. The holder of cqLock polls, for all of them: a waiter that leads, a
 * waiter that arms, a thread whose post made the event, or the poller. The lock is held for one batch at most, and
 * never while a thread is woken, but one that waits for datagrams.
 *
 * <p>The objects that a batch needs are made before it is polled, so that a thread without memory loses no completion:
 * it throws with nothing changed, and the poller looks after the shard. If the delivery of one completion throws, the
 * inbox that it was for fails. Only when the queue itself can give no more do all inboxes fail.
 */
public final class CompletionShard extends Padded {
    /** Completions that are kept to be used again, for a batch or a burst; more are garbage. */
    private static final int MOST_SLOTS = 512;
    /** Wake lists likewise: one for each thread that wakes at a time. */
    private static final int MOST_LISTS = 16;
    private static final int FIRST_KEPT = 8;
    /** Most batches in a row that the poller takes before it arms the queue. */
    private static final int MAX_AWAKE_BATCHES = 64;
    private static final int INDEX_BITS = 24;
    private static final int GENERATION_BITS = Integer.SIZE - INDEX_BITS;
    /** A poll leaves the queue as it is, arms it, or arms it if a waiter is parked. */
    private static final int LEAVE = 0;
    private static final int ARM = 1;
    private static final int ARM_FOR_PARKED = 2;

    private final DeviceShards siblings;
    final ConnectionRole side;
    final CompletionPoller poller;
    private final CompletionQueue queue;
    /** By the high half of their work requests' identifiers. Each takes an entry of the queue, so all fit. */
    private final HandleTable<CompletionInbox> inboxes = new HandleTable<>(GENERATION_BITS, (1 << INDEX_BITS) - 1);
    private final PaddedLock cqLock = new PaddedLock();
    /** Filled and read under cqLock. */
    private final WorkCompletions batch;
    /** How many completions the last batch had; guarded by cqLock. */
    private int polled;
    /** Empty slots: a thread that has applied one offers, the holder of cqLock polls. */
    private final MpscGrowableVarHandleUnpaddedArrayQueue<Completion> slots
            = new MpscGrowableVarHandleUnpaddedArrayQueue<>(FIRST_KEPT, MOST_SLOTS);
    /** Empty lists: a thread that has woken offers, the holder of cqLock polls. */
    private final MpscGrowableVarHandleUnpaddedArrayQueue<WakeList> lists
            = new MpscGrowableVarHandleUnpaddedArrayQueue<>(FIRST_KEPT, MOST_LISTS);
    /** Slots for the next batch, the first {@link #spare} of these; guarded by cqLock. */
    private final Completion[] spares;
    private int spare;
    /** For the next batch, or null; guarded by cqLock. */
    private WakeList spareList;
    /** The queue is armed, or its event is not yet handled. Written under cqLock. */
    private volatile boolean armed;
    /** This poll is for a lease on an unarmed queue: no waiter should be parked here; guarded by cqLock. */
    private boolean looking;
    /** How many threads are parked here, or about to. */
    private final AtomicInteger parked = new AtomicInteger();
    /** About how often threads have led; differs from {@link #seenLeads} if one has led since the poller came by. */
    private int leads;
    /** {@link #leads} when the poller last came by; poller thread only. */
    private int seenLeads;
    /** Why nothing can be polled any more; set under cqLock, once. */
    private volatile Throwable failure;
    /** Entries promised to inboxes that are not retired and drained; guarded by the monitor of inboxes. */
    private int reserved;
    /** How many inboxes have promised entries; guarded by the monitor of inboxes. */
    private int residents;
    /** No more inboxes; guarded by the monitor of inboxes. */
    private boolean closed;

    CompletionShard(DeviceShards siblings, CompletionPoller poller, CompletionQueue queue, ConnectionRole side) {
        this.siblings = siblings;
        this.side = side;
        this.poller = poller;
        this.queue = queue;
        this.batch = queue.newBatch(poller.settings.batch());
        this.spares = new Completion[batch.capacity()];
    }

    /** The completion queue, to make queue pairs with; only this shard polls and arms it. */
    public CompletionQueue queue() {
        return queue;
    }

    /** Why nothing can be polled any more, or null. */
    Throwable failure() {
        return failure;
    }

    /** The exception for a user of a queue that can give no more. */
    public VerbsException refusal() {
        return CompletionPoller.refusal(failure);
    }

    /**
     * Opens an inbox and sets room in the completion queue aside for it, until it is retired: the depths of the
     * connection's send queue and receive queue together. Null if there is no room; throws if the queue or the poller
     * has failed.
     */
    CompletionInbox tryOpenInbox(CompletionClient client, int maxOutstanding) throws VerbsException {
        if (maxOutstanding < 1) {
            throw new IllegalArgumentException("maxOutstanding=" + maxOutstanding);
        }
        CompletionInbox inbox;
        synchronized (inboxes) {
            if (closed || room() < maxOutstanding) {
                return null;
            }
            inbox = new CompletionInbox(this, client, inboxes.reserve(), maxOutstanding);
            inboxes.put(inbox.number, inbox);
            reserved += maxOutstanding;
            residents++;
        }
        poller.inboxOpened();
        // The inbox is in the table before this look, and a failure is noted before the table is read: one sees the
        // other, so that no inbox stays behind unfailed.
        Throwable cause = failure != null ? failure : poller.failure();
        if (cause != null) {
            inbox.retire();
            throw CompletionPoller.refusal(cause);
        }
        return inbox;
    }

    /** How many entries are free to promise; 0 once this is closed or has failed. */
    int room() {
        synchronized (inboxes) {
            return closed || failure != null ? 0 : Math.min(queue.entries() - reserved, queue.unreservedEntries());
        }
    }

    /** True when no inbox has promised entries. */
    boolean isVacant() {
        synchronized (inboxes) {
            return residents == 0;
        }
    }

    /** Refuses inboxes from now on; false if some are there. */
    boolean tryClose() {
        synchronized (inboxes) {
            closed |= residents == 0;
            return closed;
        }
    }

    /** Frees the index and the room of an inbox after its last completion was taken out. May block. */
    void retire(CompletionInbox inbox) {
        synchronized (inboxes) {
            if (inboxes.find(inbox.number) != inbox) {
                return;
            }
            inboxes.put(inbox.number, null);
        }
        poller.inboxRetired();
        drain();
        synchronized (inboxes) {
            inboxes.remove(inbox.number);
            reserved -= inbox.maxOutstanding;
            residents--;
        }
        siblings.closeIfSuperfluous(this);
    }

    /** Counts a waiter that has published itself in its inbox and is about to look at armed. */
    void arrive() {
        parked.incrementAndGet(); // before the look at armed: pairs with ARM_FOR_PARKED
    }

    /** Counts a waiter out. */
    void depart() {
        parked.decrementAndGet();
    }

    /**
     * Polls one batch for a waiter, unless another thread polls. The waiter looks into its own inbox after this, and
     * wakes the other waiter there when it leaves; the threads of the other inboxes are woken here. {@code looks} is
     * how often to look, spinning, if the device has a quick way to do so.
     */
    void lead(CompletionInbox own, int looks) {
        leads++;
        if (queue.spin(looks) && cqLock.tryLock()) {
            pollAndUnlock(false, LEAVE, own);
        }
    }

    /** Makes sure that the next completion makes an event. A waiter that has arrived calls it before it parks. */
    void armIfNeeded() {
        if (!armed) {
            cqLock.lock();
            drainRest(pollAndUnlock(false, ARM, null));
        }
    }

    /**
     * Handles the event of the queue in the thread whose post made it: delivers what is there, and arms it again. False
     * if another thread polls now, or this one does already: then the poller handles the event.
     */
    boolean takeEvent() {
        if (cqLock.isHeldByCurrentThread() || !cqLock.tryLock()) {
            return false;
        }
        drainRest(pollAndUnlock(true, ARM, null));
        return true;
    }

    /**
     * Looks after this shard, after an event that was taken from the channel or when a lease has run out. True if the
     * queue stays unarmed, left to the threads that lead, so that the poller must come by again. Poller thread only.
     */
    boolean service(boolean event) {
        // After an event, armed stays true for now: while this thread is awake it takes what comes, so no other thread
        // has to arm, and no peer to ring. Below, it arms and polls once more.
        for (int left = event ? MAX_AWAKE_BATCHES : 1; left > 0 && deliver(!event) > 0; left--) {
            Thread.onSpinWait();
        }
        boolean led = leads != seenLeads;
        seenLeads = leads;
        cqLock.lock();
        drainRest(pollAndUnlock(event, led ? ARM_FOR_PARKED : ARM, null));
        return !armed && failure == null;
    }

    /** Wakes waiters whose inbox holds something: a thread that put it there may have failed before it woke them. */
    void wakeLeftBehind() {
        for (CompletionInbox inbox : inboxes.all()) {
            inbox.wakeIfLeftBehind();
        }
    }

    /** Delivers one batch, for a lease if {@code looks}; how many completions there were. */
    private int deliver(boolean looks) {
        cqLock.lock();
        looking = looks && !armed;
        return pollAndUnlock(false, LEAVE, null);
    }

    /** Delivers every completion that is in the queue now. Any thread that may wait for cqLock. */
    void drain() {
        drainRest(deliver(false));
    }

    /**
     * Delivers the rest if the first batch was full. The queue gives the oldest completions first: what is left after
     * as many as it has entries came later.
     */
    private void drainRest(int found) {
        for (int left = queue.entries() - found; found == batch.capacity() && left > 0; left -= found) {
            found = deliver(false);
        }
    }

    /**
     * cqLock held: notes an event that was taken, arms, polls one batch into the inboxes, unlocks, and wakes. Gives how
     * many completions there were.
     */
    private int pollAndUnlock(boolean event, int arming, CompletionInbox own) {
        WakeList touched;
        int found;
        try {
            if (event) {
                armed = false; // before the look at parked: pairs with arrive, which comes before a look at armed
            }
            if (arming == ARM || arming == ARM_FOR_PARKED && parked.get() > 0) {
                arm();
            }
            touched = pollBatch(own); // after arming: what was there before makes no event
            found = polled;
        } catch (RuntimeException | Error e) {
            poller.lookAtAll(); // this thread may not have armed, or woken
            throw e;
        } finally {
            looking = false;
            cqLock.unlock();
        }
        if (touched != null) {
            // One fence per batch, between the offers and the look at the waiters: pairs with the publication of the
            // waiter in CompletionInbox.awaitAndEnter, which comes before its look at the inbox.
            VarHandle.fullFence();
            if (!touched.wakeAll()) {
                poller.lookAtAll();
            }
            lists.offer(touched);
        }
        if (failure != null) {
            failInboxes(failure);
        }
        return found;
    }

    /** Arms if need be; cqLock held. The caller polls afterwards. */
    private void arm() {
        if (!armed && failure == null) {
            armed = true;
            boolean asked = false;
            try {
                queue.requestNotification();
                asked = true;
            } catch (VerbsException e) {
                failure = e;
            } finally {
                armed = asked;
            }
        }
    }

    /**
     * Takes one batch out and puts it into the inboxes. Gives the inboxes whose waiters are to be woken once the lock
     * is released, or null; cqLock held. The own inbox is not among them: its waiter polls, and looks there next.
     */
    private WakeList pollBatch(CompletionInbox own) {
        polled = 0;
        if (failure != null) {
            return null;
        }
        reserve();
        try {
            polled = queue.poll(batch);
        } catch (VerbsException e) {
            failure = e; // completions may be lost, and then no thread must wait for them
        }
        WakeList touched = null;
        for (int i = 0; i < polled; i++) {
            CompletionInbox inbox = inboxes.find((int) (batch.workRequestId(i) >>> Integer.SIZE));
            if (inbox != null) { // else its queue pair is gone
                int kind = put(inbox, i);
                if (inbox != own) {
                    touched = touched != null ? touched : takeList();
                    touched.add(inbox, kind);
                }
            }
        }
        return touched;
    }

    /**
     * Puts one completion into its inbox; if that fails, the connection fails, and no other. Gives the kind for the
     * {@link WakeList}.
     */
    private int put(CompletionInbox inbox, int index) {
        try {
            Completion slot = spares[--spare];
            spares[spare] = null;
            slot.fill(batch, index);
            int kind = kindOf(slot);
            inbox.put(slot);
            countIfRescue(inbox);
            return kind;
        } catch (RuntimeException | Error e) {
            inbox.markFailed(e);
            return WakeList.BOTH;
        }
    }

    /** This thread has put something into an inbox: was it the lease that found it, for a thread that is parked? */
    void countIfRescue(CompletionInbox inbox) {
        if (looking && cqLock.isHeldByCurrentThread() && inbox.hasParked()) {
            Rescues.count("the lease of a completion queue");
        }
    }

    private static int kindOf(Completion completion) {
        if (completion.status() != 0 || completion.opcode() == CompletionOpcode.UNKNOWN) {
            return WakeList.BOTH;
        }
        return completion.isReceive ? WakeList.RECEIVED : WakeList.SENT;
    }

    /**
     * Makes the objects that the delivery of a full batch needs: after the poll, nothing may fail for lack of memory.
     */
    private void reserve() {
        while (spare < spares.length) {
            Completion slot = slots.relaxedPoll();
            spares[spare] = slot != null ? slot : new Completion();
            spare++;
        }
        if (spareList == null) {
            WakeList list = lists.relaxedPoll();
            spareList = list != null ? list : new WakeList(batch.capacity());
        }
    }

    private WakeList takeList() {
        WakeList list = spareList;
        spareList = null;
        return list;
    }

    /** Takes a slot back that was applied. Any thread. */
    void recycle(Completion slot) {
        slots.offer(slot);
    }

    /** Notes that nothing will come any more, and tells every inbox. Call without locks. */
    void fail(Throwable cause) {
        cqLock.lock();
        try {
            if (failure == null) {
                failure = cause;
            }
        } finally {
            cqLock.unlock();
        }
        failInboxes(failure);
    }

    private void failInboxes(Throwable cause) {
        try {
            for (CompletionInbox inbox : inboxes.all()) {
                inbox.fail(cause);
            }
        } catch (Error e) {
            poller.lookAtAll(); // this shard is still known, so the poller fails the others
            throw e;
        }
        poller.reportShardFailure(this, cause); // forgets it
    }

    /** The state, for a person who looks for a stall. */
    @Override
    public String toString() {
        return "CompletionShard[armed=" + armed + ", parked=" + parked + ", leads=" + leads + ", locked="
                + cqLock.isLocked() + ", failure=" + failure + "]";
    }
}
