package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.VerbsException;

/** Registering memory, which may block in the kernel and therefore runs on the set-up pool. */
public final class Registration {
    /** Longest wait for memory; only a set-up pool whose threads are all stuck needs that long. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private Registration() {}

    /**
     * Waits for memory that is registered on the set-up pool; {@code unwanted} takes it if the caller does not wait.
     * Throws if the device refuses, or this virtual thread was interrupted (status left set).
     */
    public static MemoryRegion await(Callable<MemoryRegion> make, Consumer<MemoryRegion> unwanted) throws IOException {
        CompletableFuture<MemoryRegion> made = SetupPool.SHARED.submit(make);
        boolean taken = false;
        try {
            if (InterruptibleWait.awaitAnswer(nanos -> SetupPool.completed(made, nanos),
                    System.nanoTime() + PATIENCE_NANOS) == null) {
                throw new SocketTimeoutException("No memory was registered within "
                        + TimeUnit.NANOSECONDS.toSeconds(PATIENCE_NANOS) + " s");
            }
            taken = true;
            return SetupPool.result(made, "registering memory failed");
        } catch (VerbsException e) {
            throw NetErrors.other(e);
        } finally {
            if (!taken) {
                made.thenAccept(unwanted);
            }
        }
    }
}
