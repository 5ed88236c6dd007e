package org.rdmasockets.provider.sharedmemory;

import java.util.ArrayList;
import java.util.List;

/** The requests to a listener that no handler has got; whoever closes the listener closes them. */
final class WaitingRequests {
    /** The least number that may wait, whatever the backlog: the event thread takes them soon. */
    private static final int LEAST = 128;

    /** Guarded by this, as are all fields. */
    private final List<SharedMemoryIdentifier> requests = new ArrayList<>();
    /** Most requests; 0 after the close. */
    private int most;

    /**
     * Takes requests from now on.
     *
     * @param backlog how many may wait, at least
     */
    WaitingRequests(int backlog) {
        most = Math.max(backlog, LEAST);
    }

    /** Adds a request; false if this is closed, or too many wait. */
    synchronized boolean add(SharedMemoryIdentifier request) {
        return requests.size() < most && requests.add(request);
    }

    /** Takes a request out for a handler; false if it is not here any more. */
    synchronized boolean remove(SharedMemoryIdentifier request) {
        return requests.remove(request);
    }

    /** Takes no more, and closes what waits. */
    void close() {
        List<SharedMemoryIdentifier> left;
        synchronized (this) {
            most = 0;
            left = List.copyOf(requests);
            requests.clear();
        }
        left.forEach(SharedMemoryIdentifier::close);
    }
}
