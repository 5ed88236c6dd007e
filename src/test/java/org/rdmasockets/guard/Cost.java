package org.rdmasockets.guard;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/**
 * The cost of some messages, all threads of this process together.
 *
 * @param heapBytes garbage per message
 * @param times how often something was done, per message
 */
record Cost(double heapBytes, Map<Counts.What, Double> times) {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Work of some messages. */
    @FunctionalInterface
    interface Work {
        void run() throws Exception;
    }

    /** Does some work of so many messages, and returns the cost of one message. */
    static Cost of(Counts counts, int messages, Work work) throws Exception {
        long[] before = look(counts);
        work.run();
        long[] after = look(counts);
        Map<Counts.What, Double> times = new EnumMap<>(Counts.What.class);
        for (Counts.What what : Counts.What.values()) {
            times.put(what, (double) (after[what.ordinal()] - before[what.ordinal()]) / messages);
        }
        int heap = after.length - 1;
        return new Cost((double) (after[heap] - before[heap]) / messages, times);
    }

    /** All counts, and behind them the bytes that all threads have allocated. */
    private static long[] look(Counts counts) {
        long[] seen = new long[Counts.What.values().length + 1];
        Arrays.setAll(seen, i -> i + 1 < seen.length ? counts.get(Counts.What.values()[i])
                : THREADS.getTotalThreadAllocatedBytes());
        return seen;
    }

    /** How often something was done per message. */
    double times(Counts.What what) {
        return times.get(what);
    }

    /** How often the processor copied each byte on its way out. */
    double copies() {
        return times(Counts.What.COPIED_BYTES) / Math.max(1, times(Counts.What.PAYLOAD_BYTES));
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(String.format(Locale.ROOT, "per message: %.3f B of garbage", heapBytes));
        times.forEach((what, number) -> text.append(String.format(Locale.ROOT, ", %s %.3f", what, number)));
        return text.append(String.format(Locale.ROOT, "; copies per byte %.3f", copies())).toString();
    }
}
