package org.rdmasockets.provider.sharedmemory;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** A shared memory provider of its own whose device misbehaves as tests want it. Any thread. */
public final class FaultDoor implements Faults {
    private final SharedMemoryProvider provider;
    /** Queue pairs whose completions are kept; protected by this, as {@link #kept}. */
    private final Set<Integer> keeping = ConcurrentHashMap.newKeySet();
    private final List<FaultyCompletion> kept = new ArrayList<>();
    private final Set<Integer> notReady = ConcurrentHashMap.newKeySet();
    private final Set<Integer> full = ConcurrentHashMap.newKeySet();

    /**
     * A provider without faults.
     *
     * @param linksOnly true to reach even this process by a link
     */
    public FaultDoor(boolean linksOnly) {
        provider = new SharedMemoryProvider(linksOnly);
        provider.fabric.faults(this);
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
        List<FaultyCompletion> all = takeKept();
        if (backwards) {
            Collections.reverse(all);
        }
        all.forEach(FaultyCompletion::deliver);
        return all.size();
    }

    /** Reports what is kept as failed, and keeps nothing more. */
    public void fail(WorkCompletionStatus status) {
        takeKept().forEach(c -> c.deliver(status.ordinal()));
    }

    private synchronized List<FaultyCompletion> takeKept() {
        keeping.clear();
        List<FaultyCompletion> all = new ArrayList<>(kept);
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

    @Override
    public boolean take(FaultyCompletion completion) {
        synchronized (this) {
            return keeping.contains(completion.room().queuePairNumber) && kept.add(completion);
        }
    }

    @Override
    public boolean hidesReceives(int queuePairNumber) {
        return notReady.contains(queuePairNumber);
    }

    @Override
    public boolean isFull(int queuePairNumber, boolean receives) {
        return full.contains(queuePairNumber);
    }
}
