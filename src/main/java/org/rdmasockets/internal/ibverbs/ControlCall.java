package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import org.rdmasockets.verbs.VerbsException;

/**
 * A C function of the control path, with errno captured. A failure becomes a {@link VerbsException} that names the
 * function, errno, arguments and remedy. Not for the data path: arguments travel in an array. Any thread may call.
 *
 * <p>All functions share one native signature, six integers or pointers in registers, because each further signature
 * costs a starting JVM some twenty classes. A function does not look at registers that it has no argument in, nor at
 * the upper half of one that has an int; a variadic one takes integers from the same registers.
 */
final class ControlCall {
    private static final int MOST_ARGUMENTS = 6;

    final String name;
    private final String symbol;
    /** Where the function is, looked up at the first call; threads that come together find the same. */
    private MemorySegment function;

    /** A function that the library has under its name. */
    ControlCall(String name) {
        this(name, name);
    }

    /** A function by its C name, and the symbol that the library has it under. */
    ControlCall(String name, String symbol) {
        this.name = name;
        this.symbol = symbol;
    }

    /** A function of a device's table, by its C name. */
    ControlCall(String name, MemorySegment function) {
        this(name, name);
        this.function = function;
    }

    private long invoke(MemorySegment captured, Object[] arguments) {
        MemorySegment found = function;
        if (found == null) {
            found = IbverbsCalls.function(symbol);
            function = found;
        }
        long[] all = new long[MOST_ARGUMENTS];
        for (int i = 0; i < arguments.length; i++) {
            all[i] = arguments[i] instanceof MemorySegment memory ? memory.address()
                    : ((Number) arguments[i]).longValue();
        }
        try {
            return IbverbsCalls.control(found, captured, all);
        } finally {
            Reference.reachabilityFence(arguments); // memory of an automatic arena stays until the call is over
        }
    }

    /** Calls a function that returns void; the arguments are numbers, and memory for pointers, as of all these. */
    void run(Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            invoke(arena.allocate(IbverbsCalls.CAPTURED_BYTES), arguments);
        }
    }

    /**
     * Calls a function that returns 0 or an error, in any of the ways that {@link IbverbsCalls#errorNumber} knows: 0 or
     * a positive errno.
     */
    int error(Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment captured = arena.allocate(IbverbsCalls.CAPTURED_BYTES);
            int result = (int) invoke(captured, arguments);
            return IbverbsCalls.errorNumber(result, IbverbsCalls.capturedErrno(captured));
        }
    }

    /**
     * Calls a function that returns 0 or an error.
     *
     * @param text says the arguments that matter to a person, and is asked only if it failed
     * @param arguments its arguments: numbers, and memory for pointers
     * @throws VerbsException if it failed
     */
    void check(Object text, Object... arguments) throws VerbsException {
        int error = error(arguments);
        if (error != 0) {
            throw failure(error, text.toString());
        }
    }

    /** Calls a function that returns a number from 0, or -1 with errno. */
    int number(String text, Object... arguments) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment captured = arena.allocate(IbverbsCalls.CAPTURED_BYTES);
            int result = (int) invoke(captured, arguments);
            if (result < 0) {
                throw failure(IbverbsCalls.capturedErrno(captured), text);
            }
            return result;
        }
    }

    /** Calls a function that returns a 64-bit number and cannot fail. */
    long longNumber(Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            return invoke(arena.allocate(IbverbsCalls.CAPTURED_BYTES), arguments);
        }
    }

    /**
     * Calls a function that returns a pointer, or NULL with errno.
     *
     * @param text says the arguments that matter to a person, and is asked only if it failed
     * @param arguments its arguments: numbers, and memory for pointers
     * @return memory without bounds at the pointer
     * @throws VerbsException if it was NULL
     */
    MemorySegment pointer(Object text, Object... arguments) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment captured = arena.allocate(IbverbsCalls.CAPTURED_BYTES);
            long result = invoke(captured, arguments);
            if (result == 0) {
                throw failure(IbverbsCalls.capturedErrno(captured), text.toString());
            }
            return IbverbsCalls.memory(result, Long.MAX_VALUE);
        }
    }

    /** The exception for a positive errno of this function, with a remedy where one is known. */
    VerbsException failure(int errorNumber, String text) {
        return new VerbsException(name, errorNumber, text, IbverbsRemedies.of(name, errorNumber));
    }
}
