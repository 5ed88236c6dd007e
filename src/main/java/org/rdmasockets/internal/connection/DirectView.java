package org.rdmasockets.internal.connection;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.function.Consumer;

/** A look at bytes that have arrived, for the thread that asked; after {@link #close} the segment throws. */
public final class DirectView implements AutoCloseable {
    private final Arena arena;
    private final MemorySegment segment;
    private final Consumer<DirectView> end;

    /**
     * An open, read-only view for the thread that reads; {@code end} is called once, when the segment is out of reach.
     */
    DirectView(Arena arena, MemorySegment segment, Consumer<DirectView> end) {
        this.arena = arena;
        this.segment = segment;
        this.end = end;
    }

    /** A view for the calling thread of memory of a ring, which stays as it is until the end. */
    static DirectView of(MemorySegment ring, Consumer<DirectView> end) {
        Arena arena = Arena.ofConfined();
        return new DirectView(arena, within(arena, ring).asReadOnly(), end);
    }

    /** Memory that lasts longer than an arena, as it is seen until that is closed. */
    @SuppressWarnings("restricted") // it shortens the life of the segment, and never lengthens it
    public static MemorySegment within(Arena arena, MemorySegment memory) {
        return memory.reinterpret(arena, null);
    }

    /**
     * The same for memory that only its segments keep, where memory of the arena would stay for ever if the view is
     * never closed. Where native access is denied it is other memory of the same size: TCP works there, too.
     */
    @SuppressWarnings("restricted") // likewise
    static MemorySegment keeping(Arena arena, MemorySegment memory) {
        try {
            return memory.reinterpret(arena, unused -> Reference.reachabilityFence(memory));
        } catch (IllegalCallerException e) {
            return arena.allocate(memory.byteSize());
        }
    }

    /** The bytes: a read-only segment for the thread that reads, at least one byte. */
    public MemorySegment segment() {
        return segment;
    }

    /** Ends the view: the bytes were read. Idempotent. */
    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
            end.accept(this);
        }
    }
}
