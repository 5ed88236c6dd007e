package org.rdmasockets.internal.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.rdmasockets.verbs.Errno;

/**
 * The choke point: the only class of this package that uses the {@link Linker}. It makes the calls of the data path and
 * of the event loop itself, and links what {@link ControlCalls} lists. Callers have asked {@link NativeLibraries}
 * first, because initialisation fails where a library is missing.
 *
 * <p>Calls of the data path take raw addresses: a segment of a shared arena costs five times as much (it is acquired
 * and released on each call). The caller guards them by a closed flag under the object's lock.
 */
@SuppressWarnings("restricted")
final class IbverbsCalls {
    /** Size of the memory that errno is captured into, {@code Linker.Option.captureStateLayout}: an int and no more. */
    static final long CAPTURED_BYTES = Integer.BYTES;
    private static final Linker LINKER = Linker.nativeLinker();
    // Function pointers of context->ops come as first argument. poll_cq is short and never waits: critical. The posts
    // are system calls that do the transfer on software devices: never critical, a garbage collection would wait.
    private static final MethodHandle POLL_CQ = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), Linker.Option.critical(false));
    /** Also for other functions of at most three arguments that return an int or nothing; an int may be a long here. */
    private static final MethodHandle POST = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    /** All else, see {@link ControlCall}; the same signature as that of the C library's functions. */
    private static final MethodHandle CONTROL = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
            captureErrno());

    private static final SymbolLookup VERBS = SymbolLookup.libraryLookup(NativeLibraries.IBVERBS, Arena.global());
    private static final SymbolLookup CONNECTIONS = SymbolLookup.libraryLookup(NativeLibraries.RDMACM, Arena.global());
    private static final MemorySegment GET_CQ_EVENT = function("ibv_get_cq_event");
    private static final MemorySegment ACK_CQ_EVENTS = function("ibv_ack_cq_events");
    private static final MemorySegment CALLOC = function("calloc");
    private static final MemorySegment FREE = function("free");
    /** Takes the errno of calls that need none; all threads write it, and none relies on it. */
    private static final MemorySegment IGNORED = Arena.global().allocate(CAPTURED_BYTES);

    private IbverbsCalls() {}

    private static Linker.Option captureErrno() {
        return Linker.Option.captureCallState("errno");
    }

    /** Finds a function of the libraries or of the C library. */
    static MemorySegment function(String symbol) {
        Optional<MemorySegment> found = symbol.startsWith("rdma_") ? CONNECTIONS.find(symbol) : VERBS.find(symbol);
        return found.isPresent() ? found.get() : LINKER.defaultLookup().findOrThrow(symbol);
    }

    /**
     * Calls a function of the control path with six integers or addresses and {@link #CAPTURED_BYTES} bytes for errno.
     * Gives what the register has; the upper half means nothing if the function returns an int.
     */
    static long control(MemorySegment function, MemorySegment captured, long[] arguments) {
        try {
            return (long) CONTROL.invokeExact(function, captured, arguments[0], arguments[1], arguments[2],
                    arguments[3], arguments[4], arguments[5]);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** The errno that a call captured. */
    static int capturedErrno(MemorySegment captured) {
        return captured.get(JAVA_INT, 0);
    }

    /**
     * The one rule for what a call returned; devices differ even within one call. 0 is success, a positive number is
     * the errno itself (rxe), one below -1 is it negated (siw), and -1 says to look at the captured errno.
     */
    static int errorNumber(int result, int errno) {
        if (result == -1) {
            return errno == 0 ? Errno.EIO.number() : errno;
        }
        return Math.abs(result);
    }

    /** {@code ibv_poll_cq}: how many completions were written to {@code completions}, negative on error. */
    static int pollCq(MemorySegment function, long queue, int capacity, long completions) {
        try {
            return (int) POLL_CQ.invokeExact(function, queue, capacity, completions);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** {@code ibv_req_notify_cq} for all completions: 0 or a positive errno. */
    static int requestNotification(MemorySegment function, long queue) {
        try {
            return errorNumber((int) POST.invokeExact(function, queue, 0L, 0L), Errno.EIO.number());
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /**
     * {@code ibv_post_send} or {@code ibv_post_recv}: 0 or a positive errno. They return it, so nothing is captured;
     * siw's bare -1 on a link that is down becomes EIO.
     */
    static int post(MemorySegment function, long queuePair, long request, long badRequest) {
        try {
            return errorNumber((int) POST.invokeExact(function, queuePair, request, badRequest), Errno.EIO.number());
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** {@code ibv_get_cq_event}: 0 or a positive errno; {@code captured} has room for errno. */
    static int getCqEvent(MemorySegment captured, long channel, long queue, long queueContext) {
        try {
            int result = (int) (long) CONTROL.invokeExact(GET_CQ_EVENT, captured, channel, queue, queueContext, 0L, 0L,
                    0L);
            return errorNumber(result, capturedErrno(captured));
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** {@code ibv_ack_cq_events}. */
    static void ackCqEvents(long queue, int events) {
        try {
            int ignored = (int) POST.invokeExact(ACK_CQ_EVENTS, queue, (long) events, 0L);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /**
     * {@code calloc}: zeroed memory, aligned to 16 bytes, of one native object, freed with it. An arena for each would
     * cost the heap a Cleaner, and closing a shared one stops all threads.
     */
    static MemorySegment allocate(long bytes) {
        long address;
        try {
            address = (long) CONTROL.invokeExact(CALLOC, IGNORED, 1L, bytes, 0L, 0L, 0L, 0L);
        } catch (Throwable t) {
            throw unexpected(t);
        }
        if (address == 0) {
            throw new OutOfMemoryError("calloc of " + bytes + " bytes");
        }
        return MemorySegment.ofAddress(address).reinterpret(bytes);
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
        try {
            int ignored = (int) POST.invokeExact(FREE, memory.address(), 0L, 0L);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /**
     * Throws on what came out of a handle that throws nothing of its own: errors and runtime exceptions as they are.
     */
    static AssertionError unexpected(Throwable thrown) {
        switch (thrown) {
            case Error e -> throw e;
            case RuntimeException e -> throw e;
            default -> throw new AssertionError("a native call throws nothing", thrown);
        }
    }
}
