package org.rdmasockets.internal.waiting;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Finds the inbox of a work request identifier: {@code generation (16) | index (24) | client's (24)}. The generation of
 * an index changes with each use, so completions of a queue pair that is gone find no inbox. Lookups take no lock and
 * may run beside changes.
 */
final class InboxTable {
    /** How many low bits of a work request identifier are the client's. */
    static final int CLIENT_BITS = 24;
    private static final int INDEX_BITS = 24;
    private static final int INDEX_MASK = (1 << INDEX_BITS) - 1;
    private static final long BASE_MASK = -1L << CLIENT_BITS;
    private static final int GENERATION_MASK = 0xFFFF;
    private static final int FIRST_SIZE = 8;
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(CompletionInbox[].class);

    /** Elements are written by setRelease under this monitor, after the inbox is complete. */
    private volatile CompletionInbox[] inboxes = new CompletionInbox[FIRST_SIZE];
    /** The last generation of each index; guarded by this monitor. */
    private short[] generations = new short[FIRST_SIZE];
    /**
     * Indexes to use again, a ring from {@link #firstFree} with room for all, so that to release one needs no memory;
     * guarded by this monitor, as are the next two.
     */
    private int[] free = new int[FIRST_SIZE];
    private int firstFree;
    private int freeCount;
    /** How many indexes were ever used; guarded by this monitor. */
    private int used;

    /** Takes an index: the identifier base of an inbox to be, for {@link #put}, or {@link #release} without it. */
    synchronized long claim() {
        int index = freeCount == 0 ? nextIndex() : takeFree();
        short generation = (short) (generations[index] + 1);
        generations[index] = generation == 0 ? 1 : generation;
        return ((long) (generations[index] & GENERATION_MASK) << INDEX_BITS | index) << CLIENT_BITS;
    }

    private int nextIndex() {
        if (used > INDEX_MASK) {
            throw new IllegalStateException("all " + used + " connection indexes of a completion queue are in use");
        }
        if (used == generations.length) {
            int size = Math.min(2 * used, INDEX_MASK + 1);
            int[] moreFree = new int[size]; // none is free, or this index would be one of them
            CompletionInbox[] moreInboxes = Arrays.copyOf(inboxes, size);
            generations = Arrays.copyOf(generations, size);
            free = moreFree;
            firstFree = 0;
            inboxes = moreInboxes;
        }
        return used++;
    }

    private int takeFree() {
        int index = free[firstFree];
        firstFree = firstFree + 1 == free.length ? 0 : firstFree + 1;
        freeCount--;
        return index;
    }

    /** Makes an inbox findable under its base. */
    synchronized void put(CompletionInbox inbox) {
        ELEMENT.setRelease(inboxes, index(inbox.workRequestIdBase()), inbox);
    }

    /** Lets the completions of an inbox go nowhere from now on; its index stays taken. */
    synchronized void remove(CompletionInbox inbox) {
        ELEMENT.setRelease(inboxes, index(inbox.workRequestIdBase()), null);
    }

    /** Lets an index be used again, when none of its completions can be in the completion queue any more. */
    synchronized void release(long base) {
        int last = firstFree + freeCount++;
        free[last < free.length ? last : last - free.length] = index(base);
    }

    /** The inbox of a work request, or null if that is gone. Any thread. */
    CompletionInbox find(long workRequestId) {
        CompletionInbox[] current = inboxes;
        int index = index(workRequestId);
        if (index >= current.length) {
            return null;
        }
        CompletionInbox inbox = (CompletionInbox) ELEMENT.getAcquire(current, index);
        return inbox != null && inbox.workRequestIdBase() == (workRequestId & BASE_MASK) ? inbox : null;
    }

    /** All inboxes that can be found now. */
    synchronized List<CompletionInbox> all() {
        List<CompletionInbox> all = new ArrayList<>();
        for (CompletionInbox inbox : inboxes) {
            if (inbox != null) {
                all.add(inbox);
            }
        }
        return all;
    }

    private static int index(long workRequestId) {
        return (int) (workRequestId >>> CLIENT_BITS) & INDEX_MASK;
    }
}
