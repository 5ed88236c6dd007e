package org.rdmasockets.internal.sharedmemory;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.WorkCompletionStatus;

/**
 * A shared memory provider of its own whose device misbehaves as tests want it: a network card loses, delays and breaks
 * things that memory never does. {@link FaultHooks} ask it. Any thread.
 */
public final class FaultDoor {
    private static final Map<SharedMemoryFabric, FaultDoor> DOORS = new ConcurrentHashMap<>();

    private final SharedMemoryProvider provider;
    /** Queue pairs whose completions are kept; protected by this, as {@link #kept}. */
    private final Set<Integer> keeping = ConcurrentHashMap.newKeySet();
    private final List<Kept> kept = new ArrayList<>();
    private final Set<Integer> notReady = ConcurrentHashMap.newKeySet();
    private final Set<Integer> full = ConcurrentHashMap.newKeySet();

    /** A completion that is taken out of the device's hands; {@code received} is what a receive has beside, or null. */
    record Kept(SharedMemoryCompletionQueue queue, QueueRoom room, long id, CompletionOpcode opcode, Received received,
            int status) {
        /** Reports it after all, with its own status or another. */
        void deliver(int as) {
            boolean wanted = received == null || as != Status.SUCCESS ? queue.complete(room, id, as, opcode)
                    : queue.received(room, id, opcode, received.length, received.hasImmediate, received.immediate);
            if (wanted) {
                queue.report();
            }
        }
    }

    /** The further facts in the completion of a receive. */
    record Received(int length, boolean hasImmediate, int immediate) {}

    /**
     * A provider without faults.
     *
     * @param linksOnly true to reach even this process by a link
     */
    public FaultDoor(boolean linksOnly) {
        provider = new SharedMemoryProvider(linksOnly);
        FaultHooks.install();
        DOORS.put(provider.fabric, this);
    }

    /** The one of a device; null if that does not misbehave. */
    static FaultDoor of(Device device) {
        return DOORS.get(((SharedMemoryDevice) device).fabric);
    }

    /** The provider. */
    public VerbsProvider provider() {
        return provider;
    }

    /** The name of its device. */
    public static String device() {
        return SharedMemoryDevice.NAME;
    }

    /** Keeps the completions of a queue pair until {@link #drop} or {@link #deliver}. */
    public void keepCompletions(QueuePair queuePair) {
        keeping.add(queuePair.number());
    }

    /** Loses what is kept, and keeps nothing more. How many were lost. */
    public synchronized int drop() {
        keeping.clear();
        int lost = kept.size();
        kept.clear();
        return lost;
    }

    /** Reports what is kept, in order or backwards, and keeps nothing more. How many were reported. */
    public int deliver(boolean backwards) {
        List<Kept> all = takeKept();
        if (backwards) {
            Collections.reverse(all);
        }
        all.forEach(c -> c.deliver(c.status));
        return all.size();
    }

    /** Reports what is kept as failed, and keeps nothing more. */
    public void fail(WorkCompletionStatus status) {
        takeKept().forEach(c -> c.deliver(status.ordinal()));
    }

    private synchronized List<Kept> takeKept() {
        keeping.clear();
        List<Kept> all = new ArrayList<>(kept);
        kept.clear();
        return all;
    }

    /** Lets a queue pair behave as if it had no receive, until it posts one after the end of that. */
    public void hideReceives(QueuePair queuePair, boolean hidden) {
        change(notReady, queuePair, hidden);
    }

    /** Lets the queues of a queue pair behave as if they were full. */
    public void fill(QueuePair queuePair, boolean filled) {
        change(full, queuePair, filled);
    }

    private static void change(Set<Integer> numbers, QueuePair queuePair, boolean add) {
        if (add) {
            numbers.add(queuePair.number());
        } else {
            numbers.remove(queuePair.number());
        }
    }

    /** Unplugs the device. */
    public void removeDevice() {
        provider.fabric.removeDevice();
    }

    /** Takes a completion that is about to be reported; false to report it as it is. */
    synchronized boolean keep(Kept completion) {
        return keeping.contains(completion.room.queuePairNumber) && kept.add(completion);
    }

    /** Whether a queue pair behaves as if it had no receive posted, which lets its peer wait. */
    boolean hidesReceives(int queuePairNumber) {
        return notReady.contains(queuePairNumber);
    }

    /** Whether the queues of a queue pair behave as if they were full, and refuse posts. */
    boolean isFull(int queuePairNumber) {
        return full.contains(queuePairNumber);
    }
}
