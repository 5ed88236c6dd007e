package org.rdmasockets.endpoint;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.internal.lock.StackRoom;

/**
 * Joins operations: when the scope is closed, all of them have ended, also when the block that began them has thrown.
 * Their memory may then be used again, unless a connection has failed or was closed meanwhile: then the device may work
 * on it until it has noticed, or as long as the connection {@linkplain RdmaEndpointBuilder#linger lingers}, and
 * {@link LocalRegion#isWritable} tells. For one thread.
 *
 * {@snippet lang="java" :
 * try (OperationScope scope = new OperationScope()) {
 *     for (LocalRegion part : parts) {
 *         scope.add(endpoint.startSend(part));
 *     }
 * } // all of them are sent here
 * }
 *
 * @since 0.1
 */
public final class OperationScope implements AutoCloseable {
    private final List<Pending<?>> pending = new ArrayList<>();

    /** A scope without operations. */
    public OperationScope() {}

    /**
     * Adds an operation.
     *
     * @param <T> its result
     * @param one the operation
     * @return the same, which may be awaited before the end of the scope
     */
    public <T> Pending<T> add(Pending<T> one) {
        pending.add(one);
        return one;
    }

    /**
     * Waits until all have ended.
     *
     * @throws IOException the failure of the first that has failed, with those of the others suppressed; that they were
     *         awaited before does not matter
     */
    public void join() throws IOException {
        StackRoom.ensure();
        joinAll();
    }

    /** As {@link #join}, for a caller that has {@link StackRoom}. */
    void joinAll() throws IOException {
        IOException first = null;
        boolean interrupted = false;
        for (Pending<?> one : pending) {
            interrupted |= end(one);
            try {
                one.await(Long.MAX_VALUE);
            } catch (IOException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        pending.clear();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (first != null) {
            throw first;
        }
    }

    /** Waits until an operation has ended, in spite of interrupts; true if this thread was interrupted. */
    private static boolean end(Pending<?> one) {
        boolean interrupted = false;
        while (!one.look()) {
            interrupted |= Thread.interrupted();
            try {
                one.await(Long.MAX_VALUE);
            } catch (InterruptedIOException e) {
                interrupted = true;
            } catch (IOException e) {
                return interrupted; // it has ended; join asks again how
            }
        }
        return Thread.interrupted() || interrupted;
    }

    /**
     * Waits until all have ended. An interrupt does not shorten that; its status is set afterwards.
     *
     * @throws IOException as {@link #join}
     */
    @Override
    public void close() throws IOException {
        join();
    }
}
