package org.rdmasockets.internal.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** Where a call leaves errno: an int and no more, {@code Linker.Option.captureStateLayout}. */
final class Captured {
    static final long BYTES = Integer.BYTES;

    final MemorySegment memory;
    /** The same. */
    private final ByteBuffer number;

    Captured(Arena arena) {
        memory = arena.allocate(BYTES, BYTES);
        number = Posix.buffer(memory);
    }

    /** The errno that the last failure left. */
    int errno() {
        return number.getInt(0);
    }
}
