package org.rdmasockets.internal.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** All functions of the C library under one signature. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NativeFunctionTest {
    @Test
    void errnoIsAllThatIsCaptured() {
        StructLayout captured = Linker.Option.captureStateLayout();
        assertEquals(Captured.BYTES, captured.byteSize());
        assertEquals(0, captured.byteOffset(PathElement.groupElement("errno")));
    }

    @Test
    void anIntIsTakenFromTheLowerHalf() {
        NativeFunction abs = NativeFunction.returningInt("abs");
        assertEquals(7, abs.call(0xFFFFFFFF_00000000L | -7 & 0xFFFFFFFFL));
        assertEquals(7, abs.call(0x12345678_00000007L));
    }

    @Test
    void anIntThatIsNegativeIsNoErrnoUnlessItIsMinusOne() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("-5");
            assertEquals(-5, NativeFunction.returningInt("atoi").call(text.address()));
            assertEquals(-5, NativeFunction.returningLong("atol").call(text.address()));
        }
    }

    @Test
    void aVariadicFunctionFindsItsArguments() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(64);
            MemorySegment format = arena.allocateFrom("%d %ld %d");
            long length = NativeFunction.returningInt("snprintf").call(text.address(), text.byteSize(),
                    format.address(), -1, Long.MIN_VALUE, 3);
            assertEquals("-1 -9223372036854775808 3", text.getString(0));
            assertEquals(text.getString(0).length(), length);
        }
    }

    @Test
    void aFailureNamesFunctionErrnoAndArguments() {
        assertEquals(-Errno.EBADF.number(), Posix.CLOSE.call(-1));
        VerbsException e = assertThrows(VerbsException.class, () -> Posix.LISTEN.check("backlog=1", -1, 1));
        assertEquals(Errno.EBADF, e.errno());
        assertTrue(e.getMessage().contains("listen failed: EBADF (9): backlog=1"), e.getMessage());
    }

    @Test
    void aFunctionThatTheLibraryDoesNotHaveIsNamed() {
        NativeFunction missing = NativeFunction.returningInt("no_such_function");
        Throwable e = assertThrows(RuntimeException.class, missing::call);
        assertTrue(e.getMessage().contains("no_such_function"), e.getMessage());
    }
}
