package org.rdmasockets.internal.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** Where a call leaves errno: an int and no more, {@code Linker.Option.captureStateLayout}. */
public final class Captured {
    /** The size of the memory. */
    public static final int BYTES = Integer.BYTES;
    /** Takes the errno of calls that need none; all threads write it, and none relies on it. */
    public static final Captured IGNORED = new Captured(Arena.global());

    final MemorySegment memory;
    /** The same. */
    private final ByteBuffer number;

    /** Memory of an arena. */
    public Captured(Arena arena) {
        this(arena.allocate(BYTES, BYTES));
    }

    /** Memory of {@link #BYTES} bytes. */
    public Captured(MemorySegment memory) {
        this.memory = memory;
        number = Posix.buffer(memory);
    }

    /** The errno that the last failure left. */
    public int errno() {
        return number.getInt(0);
    }
}
