package org.rdmasockets.completion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmasockets.lock.Apart;
import org.rdmasockets.lock.ApartLock;
import org.rdmasockets.lock.Field;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletions;

/**
 * One completion queue and the inboxes it serves. Whoever holds cqLock polls, for everybody: a waiter that leads, a
 * waiter that arms, or the poller. The lock is held for one batch at most, and never while a thread is woken.
 *
 * <p>What a batch needs is made before it is polled, so that a thread without memory loses no completion: it throws
 * with nothing changed, and the poller looks after the shard. What the delivery of one completion throws fails the
 * inbox that it was for. Only when the queue itself can give no more do all inboxes fail.
 */
public final class CompletionShard extends Apart {
    private static final VarHandle FREE = Field.of(MethodHandles.lookup(), "free", Completion.class);
    private static final VarHandle FREE_LISTS = Field.of(MethodHandles.lookup(), "freeLists", WakeList.class);
    /** After so many full batches in a row the poller looks after other shards first. */
    private static final int MAX_FULL_BATCHES = 64;
    /** After so many batches in a row that came while the poller was awake, it arms the queue. */
    private static final int MAX_AWAKE_BATCHES = 64;

    private final DeviceShards siblings;
    final Side side;
    final CompletionPoller poller;
    final Faults faults;
    private final CompletionQueue queue;
    private final InboxTable inboxes = new InboxTable();
    private final ApartLock cqLock = new ApartLock();
    /** Filled and read under cqLock. */
    private final WorkCompletions batch;
    /** How many completions the last batch had; guarded by cqLock. */
    private int polled;
    /** Slots for the next batch: so many of the first; guarded by cqLock. */
    private final Completion[] spares;
    private int spare;
    /** For the next batch, which leads to others, or null; guarded by cqLock. */
    private WakeList spareList;
    /** Empty slots, each leads to the next; any thread puts one in front, the holder of cqLock takes all. By FREE. */
    private volatile Completion free;
    /** Those that were taken so and are not used yet; guarded by cqLock. */
    private Completion freeHere;
    /** Empty lists, each leads to the next; any thread puts one in front, the holder of cqLock takes all. */
    private volatile WakeList freeLists;
    /** The queue is armed, or its event is not yet handled. Set and cleared under cqLock, by who handles the event. */
    private volatile boolean armed;
    /** How many threads are parked here, or about to. */
    private final AtomicInteger parked = new AtomicInteger();
    /** How often somebody has polled for himself, about: {@link #seenLeads} differs from it if somebody has. */
    private int leads;
    /** {@link #leads} when the poller last came by; guarded by cqLock. */
    private int seenLeads;
    /** The poller left the queue unarmed to those who lead, and looks again soon; guarded by cqLock. */
    private boolean leased;
    /** True while this is in the poller's queue of shards to look after. */
    private final AtomicBoolean kicked = new AtomicBoolean();
    /** The next one there; for the poller. */
    CompletionShard kickedBefore;
    /** Why nothing can be polled any more; set under cqLock, once. */
    private volatile Throwable failure;
    /** Entries promised to inboxes that are not retired and drained; guarded by the monitor of inboxes. */
    private int reserved;
    /** How many inboxes have promised entries; guarded by the monitor of inboxes. */
    private int residents;
    /** No more inboxes; guarded by the monitor of inboxes. */
    private boolean closed;

    CompletionShard(DeviceShards siblings, CompletionPoller poller, CompletionQueue queue, Side side) {
        this.siblings = siblings;
        this.side = side;
        this.poller = poller;
        this.faults = poller.faults;
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

    /**
     * Opens an inbox and sets room in the completion queue aside for it, until it is retired: the depths of the
     * connection's send queue and receive queue together. Open it before the queue pair is made: then that finds room
     * for sure. Throws if there is no room (any more; ask {@link CompletionPoller#shard} again), or the queue or the
     * poller has failed.
     */
    public CompletionInbox openInbox(CompletionClient client, int maxOutstanding) throws VerbsException {
        CompletionInbox inbox = tryOpenInbox(client, maxOutstanding);
        if (inbox == null) {
            throw new VerbsException("completion queue reservation", 0, "entriesNeeded=" + maxOutstanding + ", room="
                    + room() + ", entries=" + queue.entries(), "choose another completion queue");
        }
        return inbox;
    }

    /** An open inbox, or null when there is no room. */
    CompletionInbox tryOpenInbox(CompletionClient client, int maxOutstanding) throws VerbsException {
        if (maxOutstanding < 1) {
            throw new IllegalArgumentException("maxOutstanding=" + maxOutstanding);
        }
        CompletionInbox inbox;
        synchronized (inboxes) {
            if (closed || room() < maxOutstanding) {
                return null;
            }
            inbox = new CompletionInbox(this, client, inboxes.claim(), maxOutstanding);
            inboxes.put(inbox);
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

    /** How many entries are promised to nobody. */
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
            if (inboxes.find(inbox.workRequestIdBase()) != inbox) {
                return;
            }
            inboxes.remove(inbox);
        }
        poller.inboxRetired();
        drain();
        synchronized (inboxes) {
            inboxes.release(inbox.workRequestIdBase());
            reserved -= inbox.maxOutstanding;
            residents--;
        }
        siblings.closeIfSuperfluous(this);
    }

    /** Counts a waiter that has published itself, and takes over what it needs no more. */
    void arrive(Waiter waiter) {
        // Before the look at armed: pairs with armForWaiters, which clears armed before it looks at parked.
        parked.incrementAndGet();
        Completion slot = waiter.takeSlot();
        if (slot != null) {
            recycle(slot);
        }
        waiter.arrives(poller.watch.wakes());
    }

    /** Counts a waiter out. */
    void depart() {
        parked.decrementAndGet();
    }

    /**
     * Polls one batch for a waiter, who looks into his inbox after this and lets its other waiter go on when he leaves:
     * nobody has to be woken there. If the waiter {@linkplain Waiter#holds holds} a completion afterwards, he has the
     * inbox's protocol lock and enters next, and there was nothing else for anybody. {@code looks} is how often to
     * look, spinning, where the device has a quick way to do so. Tells how many completions the batch had, -1 if
     * somebody else polls.
     */
    int lead(CompletionInbox own, Waiter waiter, int looks) {
        leads++;
        if (!queue.spin(looks)) {
            return 0;
        }
        if (!cqLock.tryLock()) {
            return -1;
        }
        WakeList touched;
        int found;
        try {
            touched = pollBatch(own, waiter);
            found = polled;
        } catch (RuntimeException | Error e) {
            poller.lookAtAll(); // who has to arm, or to wake, may not have
            throw e;
        } finally {
            cqLock.unlock();
        }
        if (!waiter.holds()) {
            wake(touched);
        }
        faults.beforeOwnLook();
        return found;
    }

    /** Makes sure that the next completion makes an event. A waiter that has arrived calls it before it parks. */
    void armAndPoll() {
        if (armed) {
            return;
        }
        WakeList touched = null;
        boolean full = false;
        cqLock.lock();
        try {
            arm();
            if (faults.pollsAfterArming() && queue.spin(1)) {
                touched = pollBatch(null, null);
                full = wasFull();
            }
        } catch (RuntimeException | Error e) {
            poller.lookAtAll(); // who has to arm, or to wake, may not have
            throw e;
        } finally {
            cqLock.unlock();
        }
        wake(touched);
        if (full && faults.kicksAfterFullBatch()) {
            // What is left was there before the queue was armed and makes no event.
            poller.kick(this);
        }
    }

    /**
     * Handles the event of the queue in the thread whose post made it: delivers what is there, and arms it again. False
     * if another thread polls now, or this one does already: then the poller handles the event.
     */
    boolean takeEvent() {
        if (cqLock.isHeldByCurrentThread() || !cqLock.tryLock()) {
            return !faults.posterLeavesEvent();
        }
        takeEventAndUnlock(true);
        return true;
    }

    /**
     * Handles the event of the queue in the thread of a waiter, who has taken it from the channel. If it waits for this
     * queue, and nobody else does, the queue stays unarmed: it arms it when it waits again, and until then its peer
     * need not ring.
     */
    void takeEventForWaiter(boolean own) {
        cqLock.lock();
        leads++;
        takeEventAndUnlock(!own);
    }

    private void takeEventAndUnlock(boolean arms) {
        WakeList touched;
        boolean full;
        boolean lease = false;
        try {
            armed &= !faults.clearsArmed();
            // Before the look at parked: pairs with arrive, which counts the waiter before it looks at armed.
            if (arms || parked.get() > 1) {
                arm();
            } else {
                lease = !leased && faults.looksAfterUnarmed();
            }
            touched = pollBatch(null, null);
            full = wasFull();
        } catch (RuntimeException | Error e) {
            poller.lookAtAll(); // who has to arm, or to wake, may not have
            throw e;
        } finally {
            cqLock.unlock();
        }
        wake(touched);
        if (full || lease) {
            // What is left was there before the queue was armed and makes no event; or the poller has to come by.
            poller.kick(this);
        }
    }

    /**
     * Looks after this shard: after an event that was taken from the channel, a kick, or when a lease has run out. True
     * if this shard is leased, so that the poller must come by again. Poller thread only.
     */
    boolean service(boolean event) {
        if (!faults.pollerWaitsForLock() && cqLock.isLocked()) {
            return false;
        }
        // An event that was taken leaves the queue armed in name: what comes while this thread is awake it finds here,
        // so nobody else has to arm, and no peer to ring, until it arms and looks once more, below.
        int awake = event ? MAX_AWAKE_BATCHES : 0;
        while (awake > 0 && deliver() > 0) {
            awake--;
        }
        boolean disarmed = event;
        for (int rounds = 0; rounds < MAX_FULL_BATCHES; rounds++) {
            WakeList touched;
            boolean lease;
            boolean full;
            cqLock.lock();
            try {
                armForWaiters(disarmed);
                disarmed = false;
                touched = pollBatch(null, null);
                full = wasFull();
                lease = leased;
            } finally {
                cqLock.unlock();
            }
            wake(touched);
            if (!full) {
                return lease;
            }
        }
        poller.kick(this);
        return false;
    }

    /** Delivers one batch; how many completions there were. */
    private int deliver() {
        WakeList touched;
        int some;
        cqLock.lock();
        try {
            touched = pollBatch(null, null);
            some = polled;
        } finally {
            cqLock.unlock();
        }
        wake(touched);
        return some;
    }

    /** Arms again unless leaders poll anyway and nobody is parked; cqLock held, poller thread. */
    private void armForWaiters(boolean event) {
        if (event && faults.clearsArmed()) {
            // Before the look at parked: pairs with arrive, which counts the waiter before it looks at armed.
            armed = false;
        }
        int nowLeads = leads;
        boolean led = nowLeads != seenLeads;
        seenLeads = nowLeads;
        if (parked.get() > 0 || !led) {
            arm();
        }
        // Also if it is armed: a waiter that takes the next event may leave it unarmed.
        leased = led;
    }

    /** Arms if need be; cqLock held. Who arms polls afterwards. */
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
     * Takes one batch out and puts it into the inboxes, or gives its only completion to the waiter, who polls and needs
     * no waking; null for none. Gives whom to wake once the lock is released, or null; cqLock held.
     */
    private WakeList pollBatch(CompletionInbox own, Waiter waiter) {
        faults.beforePoll();
        polled = 0;
        if (failure != null) {
            return null;
        }
        reserve();
        try {
            polled = queue.poll(batch);
        } catch (VerbsException e) {
            // Completions may be lost, and then nobody must wait for them.
            failure = e;
        }
        WakeList touched = null;
        for (int i = 0; i < polled; i++) {
            try {
                touched = deliver(i, own, waiter, touched);
            } catch (RuntimeException | Error e) {
                touched = lose(i, e, touched);
            }
        }
        return touched;
    }

    /** Makes what the delivery of a full batch needs: after the poll, nothing may fail for want of memory. */
    private void reserve() {
        while (spare < spares.length) {
            if (freeHere == null && free != null) {
                freeHere = (Completion) FREE.getAndSet(this, null);
            }
            Completion slot = freeHere;
            spares[spare] = slot != null ? slot : new Completion();
            freeHere = slot != null ? slot.unlink() : null;
            spare++;
        }
        if (spareList == null) {
            WakeList lists = freeLists == null ? null : (WakeList) FREE_LISTS.getAndSet(this, null);
            spareList = lists != null ? lists : new WakeList(batch.capacity());
        }
    }

    /** A completion could not be delivered: its connection fails, and no other. */
    private WakeList lose(int index, Throwable cause, WakeList touched) {
        CompletionInbox inbox = inboxes.find(batch.workRequestId(index));
        if (inbox == null || !inbox.markFailed(cause)) {
            return touched;
        }
        WakeList list = touched != null ? touched : takeList();
        list.add(inbox, WakeList.BOTH);
        return list;
    }

    /** Whether the last batch was full, so that there may be more; cqLock held. */
    private boolean wasFull() {
        return polled == batch.capacity();
    }

    private WakeList deliver(int index, CompletionInbox own, Waiter waiter, WakeList touched) {
        CompletionInbox inbox = inboxes.find(batch.workRequestId(index));
        if (inbox == null) {
            // A queue pair that is gone.
            return touched;
        }
        boolean single = inbox == own && polled == 1;
        Completion slot = single ? waiter.takeSlot() : null;
        if (slot == null) {
            slot = takeSlot();
        }
        slot.fill(batch, index);
        if (single && own.tryHold(waiter, slot)) {
            return touched;
        }
        int kind = kindOf(slot);
        inbox.put(slot);
        if (inbox == own) {
            return touched;
        }
        WakeList list = touched != null ? touched : takeList();
        list.add(inbox, kind);
        return list;
    }

    private Completion takeSlot() {
        Completion slot = spares[--spare];
        spares[spare] = null;
        return slot;
    }

    private static int kindOf(Completion completion) {
        if (completion.status() != 0 || completion.opcode() == CompletionOpcode.UNKNOWN) {
            return WakeList.BOTH;
        }
        return completion.opcode().isReceive() ? WakeList.RECEIVED : WakeList.SENT;
    }

    private WakeList takeList() {
        WakeList list = spareList;
        spareList = list.next;
        list.next = null;
        return list;
    }

    /** Wakes whom a batch concerns. Call without locks. */
    private void wake(WakeList touched) {
        if (touched != null) {
            // One fence per batch, between the offers and the look at the waiters: pairs with the publication of the
            // waiter in CompletionInbox.arrive, which comes before its look at the inbox.
            faults.fenceBeforeWaiters();
            if (!touched.wakeAll()) {
                poller.lookAtAll();
            }
            keep(touched);
        }
        if (failure != null) {
            failInboxes(failure);
        }
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
        poller.reportShardFailure(this, cause);
        for (CompletionInbox inbox : inboxes.all()) {
            inbox.fail(cause);
        }
    }

    /** Delivers every completion that is in the queue at this time. Any thread that may wait for cqLock. */
    void drain() {
        int some;
        int left = queue.entries();
        do {
            some = deliver();
            left -= some;
            // The queue gives the oldest first: after as many as fit, what is left came later.
        } while (some == batch.capacity() && left > 0);
    }

    /** Takes a slot back that was applied. Any thread. */
    void recycle(Completion slot) {
        Completion before;
        do {
            before = free;
            slot.link(before);
        } while (!FREE.compareAndSet(this, before, slot));
    }

    /** Keeps a list to be used again. Any thread. */
    private void keep(WakeList list) {
        WakeList before;
        do {
            before = freeLists;
            list.next = before;
        } while (!FREE_LISTS.compareAndSet(this, before, list));
    }

    /** True if this became one to look after by this call; the poller then gets it by its queue. */
    boolean markKicked() {
        return !kicked.get() && kicked.compareAndSet(false, true);
    }

    /** The poller looks after this shard now; what comes later must kick again. */
    void clearKicked() {
        kicked.set(false);
    }

    /** What the state is, for a person who looks for a stall. */
    @Override
    public String toString() {
        return "CompletionShard[armed=" + armed + ", parked=" + parked + ", leads=" + leads + ", leased=" + leased
                + ", locked=" + cqLock.isLocked() + ", kicked=" + kicked + ", failure=" + failure + "]";
    }
}
