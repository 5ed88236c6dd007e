package org.rdmasockets.choice;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Why transports are not used, for people. What is missing on this machine, and the remedy, is written into the log in
 * full only once in the life of the process: it is the same for every connection.
 */
final class Reasons {
    /** Begins the part that is long, and concerns this machine or process. */
    private static final String MISSING = " is not available: ";
    /** There are few; beyond so many none is written in full. */
    private static final int MOST_TOLD = 64;
    /** The reasons that were written in full; guarded by itself. */
    private static final Set<String> TOLD = new HashSet<>();

    private final List<String> all = new ArrayList<>();

    /** Adds a transport; the reason why it is not used may begin with its name. */
    void add(String transport, String reason) {
        all.add(reason.startsWith(transport) ? reason : transport + ": " + reason);
    }

    /** Whether every transport is used. */
    boolean isEmpty() {
        return all.isEmpty();
    }

    String text() {
        return String.join("; ", all);
    }

    /** For a line of the log that is written now: what was told before is told short. */
    String toLog() {
        List<String> lines = new ArrayList<>(all.size());
        for (String reason : all) {
            int end = reason.indexOf(MISSING);
            lines.add(end < 0 || isNew(reason) ? reason : reason.substring(0, end + MISSING.indexOf(':')));
        }
        return String.join("; ", lines);
    }

    private static boolean isNew(String reason) {
        synchronized (TOLD) {
            return TOLD.size() < MOST_TOLD && TOLD.add(reason);
        }
    }
}
