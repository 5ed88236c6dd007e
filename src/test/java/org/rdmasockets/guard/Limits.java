package org.rdmasockets.guard;

import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;

/** The most that a message may cost. Costs that are not named are unlimited. */
final class Limits {
    private final Map<Counts.What, Double> most = new EnumMap<>(Counts.What.class);
    private double heapBytes = Double.MAX_VALUE;
    private double heapBytesOfWait;
    private double copies = Double.MAX_VALUE;

    /** Garbage per message, in bytes. */
    Limits garbage(double bytes) {
        heapBytes = bytes;
        return this;
    }

    /** Additional garbage for each time that a thread arms the queue to wait, in bytes. */
    Limits garbageOfWait(double bytes) {
        heapBytesOfWait = bytes;
        return this;
    }

    /** How often the processor copies each byte on its way out. */
    Limits copies(double times) {
        copies = times;
        return this;
    }

    /** How often something is done per message. */
    Limits times(Counts.What what, double times) {
        most.put(what, times);
        return this;
    }

    /** Lets waits cost anything: garbage, polls, arming and events. */
    Limits withoutWaits() {
        heapBytes = Double.MAX_VALUE;
        most.keySet().removeAll(List.of(Counts.What.POLL, Counts.What.ARM, Counts.What.EVENT));
        return this;
    }

    /** The costs that exceed their limits, for a person; empty if none does. */
    String exceededBy(Cost cost) {
        StringJoiner excess = new StringJoiner(", ");
        check("garbage", cost.heapBytes(), heapBytes + cost.times(Counts.What.ARM) * heapBytesOfWait, excess);
        check("copies per byte", cost.copies(), copies, excess);
        most.forEach((what, times) -> check(what.name(), cost.times(what), times, excess));
        return excess.toString();
    }

    private static void check(String what, double is, double most, StringJoiner excess) {
        if (is > most) {
            excess.add(String.format(Locale.ROOT, "%s is %.3f and may be %.3f", what, is, most));
        }
    }
}
