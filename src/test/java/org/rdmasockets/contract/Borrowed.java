package org.rdmasockets.contract;

import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.junit.jupiter.api.Assertions;

/** Memory that a C function works with, as a channel's system call does. */
final class Borrowed {
    private static final AddressLayout POINTER = ValueLayout.ADDRESS;

    private final Call.Action action;
    private Throwable failure;
    private boolean called;

    private Borrowed(Call.Action action) {
        this.action = action;
    }

    /**
     * Does something while {@code qsort} has a segment.
     *
     * @param segment at least two bytes
     * @param action called by it, in this thread
     * @throws Exception if the action fails
     */
    @SuppressWarnings("restricted") // this is a test
    static void during(MemorySegment segment, Call.Action action) throws Exception {
        Borrowed borrowed = new Borrowed(action);
        Linker linker = Linker.nativeLinker();
        MethodHandle sort = linker.downcallHandle(linker.defaultLookup().findOrThrow("qsort"),
                FunctionDescriptor.ofVoid(POINTER, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, POINTER));
        MethodHandle compare = MethodHandles.lookup().bind(borrowed, "compare",
                MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
        try (Arena arena = Arena.ofConfined()) {
            sort.invokeExact(segment, 2L, 1L, linker.upcallStub(compare,
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, POINTER, POINTER), arena));
        } catch (Throwable t) {
            borrowed.failure = t;
        }
        if (borrowed.failure != null) {
            throw new AssertionError(borrowed.failure);
        }
        Assertions.assertTrue(borrowed.called, "qsort compares");
    }

    /** Called by C, which takes no exceptions. */
    private int compare(MemorySegment one, MemorySegment other) {
        called = true;
        try {
            action.run();
        } catch (Throwable t) {
            failure = t;
        }
        return 0;
    }
}
