package org.rdmasockets.internal.log;

import java.util.HashSet;
import java.util.Set;

/** Knows what has occurred before, for lines that are worth an INFO or a WARN once. Any thread. */
public final class Occurrences {
    /** Beyond so many, nothing counts as new: a peer may have a part in them. */
    private static final int MOST = 64;

    /** Guarded by this. */
    private final Set<String> known = new HashSet<>();

    /** Knows nothing yet. */
    public Occurrences() {}

    /** Whether this is the first of its kind. */
    public synchronized boolean isFirst(String kind) {
        return known.size() < MOST && known.add(kind);
    }
}
