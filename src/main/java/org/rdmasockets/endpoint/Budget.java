package org.rdmasockets.endpoint;

import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.internal.connection.Property;

/** How much memory all peers together may make this process keep: system properties in MiB. Any thread. */
final class Budget {
    private static final int MIB_BITS = 20;
    private static final int MOST_MIB = 1 << 20;
    private static final int LEAST_DEFAULT_MIB = 128;

    /** Memory on lease to peers that have asked for it, until it is freed. */
    static final Budget LEASED = new Budget("leasedMebibytes", Property.number("leases", 4096, 0, 1 << 20));
    /** Memory of messages that have come in part, or are being read. */
    static final Budget MESSAGES = new Budget("messageMebibytes", Long.MAX_VALUE);

    private final String property;
    private final long mostBytes;
    private final long mostParts;
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong parts = new AtomicLong();

    private Budget(String property, long mostParts) {
        this.property = property;
        this.mostParts = mostParts;
        int quarter = Math.clamp(Runtime.getRuntime().maxMemory() >> MIB_BITS + 2, LEAST_DEFAULT_MIB, MOST_MIB);
        mostBytes = (long) Property.number(property, quarter, 0, MOST_MIB) << MIB_BITS;
    }

    /** A part of a budget, in use until it is given back. */
    final class Part {
        private final long size;
        /** Guarded by this. */
        private boolean returned;

        private Part(long size) {
            this.size = size;
        }

        /** Gives it back to others. Idempotent. */
        void giveBack() {
            synchronized (this) {
                if (returned) {
                    return;
                }
                returned = true;
            }
            bytes.addAndGet(-size);
            parts.decrementAndGet();
        }
    }

    /** Takes so many bytes; null if fewer are left. */
    Part take(long size) {
        Part part = new Part(size); // nothing can fail from here on
        if (parts.incrementAndGet() <= mostParts && take(bytes, size)) {
            return part;
        }
        parts.decrementAndGet();
        return null;
    }

    private boolean take(AtomicLong taken, long size) {
        long now = taken.get();
        while (size <= mostBytes - now) {
            if (taken.compareAndSet(now, now + size)) {
                return true;
            }
            now = taken.get();
        }
        return false;
    }

    /** How many bytes are left, 0 if there are too many parts. */
    long left() {
        return parts.get() >= mostParts ? 0 : mostBytes - bytes.get();
    }

    /** For people: how much there is, and what to do about it. */
    @Override
    public String toString() {
        return (bytes.get() >> MIB_BITS) + " of " + (mostBytes >> MIB_BITS) + " MiB are in use; raise -D"
                + Property.PREFIX + property;
    }
}
