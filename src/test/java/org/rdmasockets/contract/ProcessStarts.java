package org.rdmasockets.contract;

import java.io.IOException;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Starts of processes by tests that run beside others. The JDK's sockets are inherited, so a process that is being
 * started has copies of them until its program begins: meanwhile a listener that was closed listens, its port is taken,
 * and a connection with unread bytes is not reset. Any thread.
 */
public final class ProcessStarts {
    private static final ReadWriteLock STARTING = new ReentrantReadWriteLock();

    private ProcessStarts() {
    }

    /**
     * Starts a process.
     *
     * @param builder its command
     * @return the process, whose program has begun
     * @throws IOException if it cannot be started
     */
    public static Process start(ProcessBuilder builder) throws IOException {
        STARTING.readLock().lock();
        try {
            return builder.start();
        } finally {
            STARTING.readLock().unlock();
        }
    }

    /** Waits for the starts in progress: no process has a copy of a socket any more that was closed before. */
    public static void await() {
        STARTING.writeLock().lock();
        STARTING.writeLock().unlock();
    }
}
