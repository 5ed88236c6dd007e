package org.rdmasockets.internal.waiting;

/**
 * The inboxes that one batch has touched. Filled under cqLock, walked after its release by the same thread, then given
 * back to the shard.
 */
final class WakeList {
    /** A receive arrived: the reader may go on, or credits came for the writer. */
    static final int RECEIVED = 1;
    /** A send completed: the writer may go on. */
    static final int SENT = 2;
    /** Both may have to go on: a token, or a failed request, whose kind the device does not tell. */
    static final int BOTH = 4;

    private final CompletionInbox[] inboxes;
    private final int[] kinds;
    private int count;

    WakeList(int capacity) {
        inboxes = new CompletionInbox[capacity];
        kinds = new int[capacity];
    }

    /** Adds what one completion does to an inbox. */
    void add(CompletionInbox inbox, int kind) {
        for (int i = count - 1; i >= 0; i--) {
            if (inboxes[i] == inbox) {
                kinds[i] |= kind;
                return;
            }
        }
        inboxes[count] = inbox;
        kinds[count++] = kind;
    }

    /**
     * Wakes the waiters of the touched inboxes and empties the list. Call without locks and after a full fence. An
     * inbox whose waiters cannot be woken fails, and the others are woken. False if one has failed.
     */
    boolean wakeAll() {
        boolean all = true;
        for (int i = 0; i < count; i++) {
            try {
                inboxes[i].wakeFor(kinds[i]);
            } catch (RuntimeException | Error e) {
                inboxes[i].markFailed(e);
                all = false;
            }
            inboxes[i] = null;
        }
        count = 0;
        return all;
    }
}
