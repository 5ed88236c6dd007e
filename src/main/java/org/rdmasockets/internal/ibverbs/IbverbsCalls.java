package org.rdmasockets.internal.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmasockets.internal.ffi.Captured;
import org.rdmasockets.internal.ffi.NativeFunction;
import org.rdmasockets.verbs.Errno;

/**
 * The calls of the data path, on function pointers of {@code ibv_context.ops}, and memory of C. All other functions are
 * in {@link ControlCall}.
 *
 * <p>Calls of the data path take raw addresses: a segment of a shared arena costs five times as much (it is acquired
 * and released on each call). The caller guards them by a closed flag under the object's lock.
 */
@SuppressWarnings("restricted")
final class IbverbsCalls {
    // poll_cq is short and never waits: critical. The posts are system calls that do the transfer on software devices:
    // never critical, a garbage collection would wait.
    private static final MethodHandle POLL_CQ = Linker.nativeLinker().downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), Linker.Option.critical(false));
    /** Also for a function of two arguments, whose int may be a long here. */
    private static final MethodHandle POST = Linker.nativeLinker().downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final NativeFunction CALLOC = NativeFunction.returningLong("calloc");
    private static final NativeFunction FREE = NativeFunction.returningInt("free");

    private IbverbsCalls() {}

    /** {@code ibv_poll_cq}: how many completions were written to {@code completions}, negative on error. */
    static int pollCq(MemorySegment function, long queue, int capacity, long completions) {
        try {
            return (int) POLL_CQ.invokeExact(function, queue, capacity, completions);
        } catch (Throwable t) {
            throw NativeFunction.unexpected(t);
        }
    }

    /**
     * {@code ibv_post_send}, {@code ibv_post_recv}, {@code ibv_post_srq_recv}, or {@code ibv_req_notify_cq} for all
     * completions, whose request is 0: 0 or a positive errno. They return it, so nothing is captured; siw's bare -1 on
     * a link that is down becomes EIO. Other numbers are as {@link ControlCall#error} knows them.
     */
    static int post(MemorySegment function, long queue, long request, long badRequest) {
        try {
            int result = (int) POST.invokeExact(function, queue, request, badRequest);
            return result == -1 ? Errno.EIO.number() : Math.abs(result);
        } catch (Throwable t) {
            throw NativeFunction.unexpected(t);
        }
    }

    /**
     * {@code calloc}: zeroed memory, aligned to 16 bytes, of one native object, freed with it. An arena for each would
     * cost the heap a Cleaner, and closing a shared one stops all threads.
     */
    static MemorySegment allocate(long bytes) {
        long address = CALLOC.call(Captured.IGNORED, 1, bytes, 0, 0);
        if (address == 0) {
            throw new OutOfMemoryError("calloc of " + bytes + " bytes");
        }
        return memory(address, bytes);
    }

    /** Memory that C owns, at an address that C gave. */
    static MemorySegment memory(long address, long bytes) {
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    /** The pointer at an offset in a struct of C, to memory without bounds. */
    static MemorySegment pointerAt(MemorySegment struct, int offset) {
        return memory(struct.get(JAVA_LONG, offset), Long.MAX_VALUE);
    }

    /** Memory without bounds at one of the addresses in an array. */
    static MemorySegment pointer(MemorySegment array, int index) {
        return memory(array.getAtIndex(JAVA_LONG, index), Long.MAX_VALUE);
    }

    /** {@code free} of what {@link #allocate} gave. */
    static void free(MemorySegment memory) {
        FREE.call(Captured.IGNORED, memory.address(), 0, 0, 0);
    }
}
