package org.rdmasockets.provider.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import org.rdmasockets.provider.ibverbs.generated.ibverbs_h;
import org.rdmasockets.verbs.Errno;

/**
 * The choke point: the only class that uses the {@link Linker}. It makes the calls of the data path and of the event
 * loop itself, and links what {@link ControlCalls} lists. Whoever comes here has asked {@link NativeLibraries} first,
 * because initialisation fails where a library is missing.
 *
 * <p>Calls of the data path take raw addresses: a segment of a shared arena costs five times as much (it is acquired
 * and released on each call). The caller guards them by a closed flag under the object's lock.
 */
@SuppressWarnings("restricted")
final class IbverbsCalls {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = CAPTURED.varHandle(PathElement.groupElement("errno"));

    // Function pointers of context->ops come as first argument. poll_cq is short and never waits: critical. The posts
    // are system calls that do the transfer on software devices: never critical, a garbage collection would wait.
    private static final MethodHandle POLL_CQ = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), Linker.Option.critical(false));
    private static final MethodHandle REQ_NOTIFY_CQ = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle POST = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));

    private static final MethodHandle GET_CQ_EVENT = LINKER.downcallHandle(ibverbs_h.ibv_get_cq_event$address(),
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG), captureErrno());
    private static final MethodHandle ACK_CQ_EVENTS = LINKER.downcallHandle(ibverbs_h.ibv_ack_cq_events$address(),
            FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT));
    private static final MethodHandle CALLOC = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("calloc"), FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("free"), FunctionDescriptor.ofVoid(JAVA_LONG));

    private IbverbsCalls() {
    }

    private static Linker.Option captureErrno() {
        return Linker.Option.captureCallState("errno");
    }

    /**
     * Finds a function of the C library that jextract was not asked for.
     *
     * @param name its C name
     * @return where it is
     */
    static MemorySegment function(String name) {
        return LINKER.defaultLookup().findOrThrow(name);
    }

    /**
     * Links a function so that errno is captured; its handle takes the {@link #CAPTURED_BYTES} bytes for it first.
     *
     * @param function where it is
     * @param descriptor what it takes and returns
     * @param variadicFrom index of the first variadic argument, or -1 for a function without
     * @return the handle
     */
    static MethodHandle link(MemorySegment function, FunctionDescriptor descriptor, int variadicFrom) {
        return variadicFrom < 0 ? LINKER.downcallHandle(function, descriptor, captureErrno())
                : LINKER.downcallHandle(function, descriptor, captureErrno(),
                        Linker.Option.firstVariadicArg(variadicFrom));
    }

    /** Size of the memory that a call with captured errno needs, in bytes. */
    static final long CAPTURED_BYTES = CAPTURED.byteSize();

    /**
     * What a call captured.
     *
     * @param captured the memory given to the call
     * @return errno
     */
    static int capturedErrno(MemorySegment captured) {
        return (int) ERRNO.get(captured, 0L);
    }

    /**
     * The one rule for what a call returned; devices differ even within one call. 0 is success, a positive number is
     * the errno itself (rxe), one below -1 is it negated (siw), and -1 says to look at errno.
     *
     * @param result what the call returned
     * @param errno captured errno, used for -1
     * @return 0 or a positive errno
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
            return errorNumber((int) REQ_NOTIFY_CQ.invokeExact(function, queue, 0), Errno.EIO.number());
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
            int result = (int) GET_CQ_EVENT.invokeExact(captured, channel, queue, queueContext);
            return errorNumber(result, capturedErrno(captured));
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** {@code ibv_ack_cq_events}. */
    static void ackCqEvents(long queue, int events) {
        try {
            ACK_CQ_EVENTS.invokeExact(queue, events);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /**
     * {@code calloc}: memory of one native object, freed with it. An arena for each would cost the heap a Cleaner, and
     * closing a shared one stops all threads.
     *
     * @param bytes how many bytes
     * @return zeroed memory, aligned to 16 bytes
     */
    static MemorySegment allocate(long bytes) {
        long address;
        try {
            address = (long) CALLOC.invokeExact(1L, bytes);
        } catch (Throwable t) {
            throw unexpected(t);
        }
        if (address == 0) {
            throw new OutOfMemoryError("calloc of " + bytes + " bytes");
        }
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    /**
     * Memory that C owns, at an address that C gave.
     *
     * @param address where it begins
     * @param bytes how long it is
     * @return the memory
     */
    static MemorySegment memory(long address, long bytes) {
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    /** {@code free} of what {@link #allocate} gave. */
    static void free(MemorySegment memory) {
        try {
            FREE.invokeExact(memory.address());
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /**
     * What a handle threw that cannot throw anything of its own.
     *
     * @param thrown what was thrown
     * @return never; errors and runtime exceptions are thrown as they are
     */
    static AssertionError unexpected(Throwable thrown) {
        switch (thrown) {
            case Error e -> throw e;
            case RuntimeException e -> throw e;
            default -> throw new AssertionError("a native call throws nothing", thrown);
        }
    }
}
