package org.rdmasockets.internal.sharedmemory.link;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** A handler that keeps what came, drains at each doorbell and arms again. */
final class Recorder implements LinkHandler {
    /** A copy of an entry. */
    record Copy(int kind, int flags, int slot, int value, long first, byte[] payload) {
    }

    /** The kind of entries that the sender may change until they are taken. */
    static final int OPEN = 200;

    final Link link;
    private final BlockingQueue<Copy> entries = new LinkedBlockingQueue<>();
    private final CompletableFuture<String> closed = new CompletableFuture<>();
    private final Semaphore doorbells = new Semaphore(0);
    /** Runs at each entry, before it is kept. */
    volatile Runnable atEntry = () -> { };
    /** Whether doorbells are only counted. */
    volatile boolean deaf;

    Recorder(Link link) {
        this.link = link;
    }

    @Override
    public void onEntry(Link from, RingEntry entry) {
        atEntry.run();
        byte[] payload = new byte[entry.payloadBytes()];
        MemorySegment.copy(entry.memory(), ValueLayout.JAVA_BYTE, entry.payloadOffset(), payload, 0, payload.length);
        long first = entry.kind() == OPEN ? entry.takeFirst() : entry.first();
        entries.add(new Copy(entry.kind(), entry.flags(), entry.slot(), entry.value(), first, payload));
    }

    @Override
    public void onDoorbell(Link from) {
        if (!deaf) {
            drainAll();
            from.arm();
            drainAll();
        }
        doorbells.release();
    }

    void drainAll() {
        while (link.drain(16) == 16) {
            Thread.onSpinWait();
        }
    }

    @Override
    public void onClosed(Link from, String reason) {
        drainAll();
        closed.complete(reason);
    }

    Copy next() throws InterruptedException {
        return Node.next(entries, "an entry");
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }

    void awaitDoorbell() throws InterruptedException {
        if (!doorbells.tryAcquire(Node.LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("waited in vain for a doorbell");
        }
    }

    int takeDoorbells() {
        return doorbells.drainPermits();
    }

    String awaitClosed() throws Exception {
        return closed.get(Node.LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    boolean isClosed() {
        return closed.isDone();
    }

    /** Publishes and rings; false if there is no room. */
    boolean send(int kind, int slot, long first, byte[] payload) {
        boolean published = publish(kind, slot, first, payload);
        if (published) {
            link.writer().notifyPeer();
        }
        return published;
    }

    /** Publishes; false if there is no room. */
    boolean publish(int kind, int slot, long first, byte[] payload) {
        RingWriter writer = link.writer();
        writer.lock();
        try {
            if (!writer.begin(payload.length)) {
                return false;
            }
            writer.header(kind, 0xABCD, slot, -kind, first);
            MemorySegment.copy(payload, 0, writer.memory(), ValueLayout.JAVA_BYTE, writer.payloadOffset(),
                    payload.length);
            writer.publish();
        } finally {
            writer.unlock();
        }
        return true;
    }
}
