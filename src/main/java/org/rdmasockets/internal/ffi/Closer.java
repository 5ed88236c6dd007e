package org.rdmasockets.internal.ffi;

import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.internal.lock.LibraryThreads;

/**
 * Closes descriptors that a peer has had a hand in, on threads of its own. Such a {@code close} may last as long as the
 * peer likes: a socket with {@code SO_LINGER} and a full buffer, a file of a file system that its owner serves, or any
 * socket with packets that carry such. No caller waits for it. One thread does it, further ones come only while all are
 * busy, and each ends when there has been nothing to do for a while.
 */
final class Closer implements Runnable {
    private static final int MOST_THREADS = 8;
    private static final long IDLE_MILLIS = 1_000;

    /** Descriptors, in a list that is whole also if there is no memory for one more; guarded by itself. */
    private static final List<Integer> WAITING = new ArrayList<>();
    /** Guarded by {@link #WAITING}. */
    private static int threads;
    /** Threads that may be stuck; guarded by {@link #WAITING}. */
    private static int closing;

    private Closer() {}

    /** Closes a descriptor soon. Never waits. */
    static void close(int descriptor) {
        try {
            synchronized (WAITING) {
                WAITING.add(descriptor);
            }
        } catch (Error e) { // no memory to let another do it, and it would be lost for ever
            Posix.close(descriptor);
            return;
        }
        synchronized (WAITING) {
            WAITING.notify();
            startIfAllAreBusy();
        }
    }

    /** Starts a thread if none is free; the lock is held. If none can be had, the next call tries again. */
    private static void startIfAllAreBusy() {
        if (closing < threads || threads == MOST_THREADS) {
            return;
        }
        threads++;
        boolean started = false;
        try {
            LibraryThreads.unstarted("rdma-sockets-closer", new Closer()).start();
            started = true;
        } catch (Error e) { // the caller gives something up, and must not lose more for that
            return;
        } finally {
            if (!started) {
                threads--;
            }
        }
    }

    @Override
    public void run() {
        while (true) {
            try {
                Integer descriptor = next();
                if (descriptor == null) {
                    return;
                }
                closeHere(descriptor);
            } catch (InterruptedException | RuntimeException | Error e) {
                continue; // after any failure the next one is closed all the same
            }
        }
    }

    /** The oldest descriptor, waiting for one a while; null if there is none then: this thread has left. */
    private static Integer next() throws InterruptedException {
        synchronized (WAITING) {
            if (WAITING.isEmpty()) {
                WAITING.wait(IDLE_MILLIS);
            }
            if (WAITING.isEmpty()) {
                threads--;
                return null;
            }
            return WAITING.removeFirst();
        }
    }

    /** Closes, with another thread for what comes meanwhile. */
    private static void closeHere(int descriptor) {
        synchronized (WAITING) {
            closing++;
        }
        try {
            letOthersIn();
        } finally {
            closeNow(descriptor);
        }
    }

    private static void letOthersIn() {
        synchronized (WAITING) {
            if (!WAITING.isEmpty()) {
                startIfAllAreBusy();
            }
        }
    }

    private static void closeNow(int descriptor) {
        try {
            Posix.close(descriptor);
        } finally {
            synchronized (WAITING) {
                closing--;
            }
        }
    }
}
