package org.rdmasockets.endpoint;

import java.util.ArrayList;
import java.util.List;

/**
 * The byte ranges of a block that the device reads, for several operations, or writes, for one. They are few. Any
 * thread.
 */
final class RangeLocks {
    /** Operations in progress; guarded by this. */
    private final List<Hold> holds = new ArrayList<>(2);
    /** Runs when the last hold is gone; null for nothing; guarded by this. */
    private Runnable whenIdle;
    /** No more holds; guarded by this. */
    private boolean closed;

    /** A range in use by one operation, which releases it once. */
    final class Hold {
        private final long from;
        private final long to;
        private final boolean exclusive;
        private final String user;

        private Hold(long from, long to, boolean exclusive, String user) {
            this.from = from;
            this.to = to;
            this.exclusive = exclusive;
            this.user = user;
        }

        /** The device is done with it. */
        void release() {
            Runnable idle = null;
            synchronized (RangeLocks.this) {
                holds.remove(this);
                if (holds.isEmpty()) {
                    idle = whenIdle;
                    whenIdle = null;
                }
            }
            if (idle != null) {
                idle.run();
            }
        }

        private boolean conflicts(long otherFrom, long otherTo, boolean otherExclusive) {
            boolean overlap = Math.max(from, otherFrom) < Math.min(to, otherTo); // never of an empty range
            return overlap && (exclusive || otherExclusive);
        }

        private String describe() {
            return "bytes " + from + " to " + (to - 1) + " are being " + (exclusive ? "written" : "read") + " by a "
                    + user;
        }
    }

    /**
     * Takes a range, {@code exclusive} if the device will write, for a user such as {@code send}; throws
     * {@code RegionBusyException} if another is in the way, {@code IllegalStateException} if the memory is closed.
     */
    synchronized Hold acquire(long from, long length, boolean exclusive, String user) {
        if (closed) {
            throw new IllegalStateException("the region is closed");
        }
        for (Hold hold : holds) {
            if (hold.conflicts(from, from + length, exclusive)) {
                throw new RegionBusyException("a " + user + " cannot " + (exclusive ? "write" : "read") + " bytes "
                        + from + " to " + (from + length - 1) + " of the region: " + hold.describe());
            }
        }
        Hold hold = new Hold(from, from + length, exclusive, user);
        holds.add(hold);
        return hold;
    }

    /** Whether an operation on a range would find nothing in the way. */
    synchronized boolean isFree(long from, long length, boolean exclusive) {
        return holds.stream().noneMatch(hold -> hold.conflicts(from, from + length, exclusive));
    }

    /** Takes no more holds; the task, which must not block, runs when the last hold is gone, now if there is none. */
    void close(Runnable task) {
        synchronized (this) {
            closed = true;
            if (!holds.isEmpty()) {
                whenIdle = task;
                return;
            }
        }
        task.run();
    }
}
