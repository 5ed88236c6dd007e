package org.rdmasockets.provider.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.function.Supplier;
import org.rdmasockets.verbs.VerbsException;

/**
 * A C function of the control path, linked with errno capture when it is first called. A failure becomes a
 * {@link VerbsException} that names the function, errno, arguments and remedy. Not for the data path: arguments travel
 * in an array. Any thread may call.
 */
final class ControlCall {
    private final String name;
    private final Supplier<FunctionDescriptor> descriptor;
    private final Supplier<MemorySegment> function;
    private final int variadicFrom;
    /** Linked at first use; linking twice by a race gives two equal handles. */
    private volatile MethodHandle handle;

    /**
     * A function without variadic arguments.
     *
     * @param name its C name
     * @param descriptor what it takes and returns
     * @param function where it is
     */
    ControlCall(String name, Supplier<FunctionDescriptor> descriptor, Supplier<MemorySegment> function) {
        this(name, descriptor, function, -1);
    }

    /**
     * A function.
     *
     * @param name its C name
     * @param descriptor what it takes and returns
     * @param function where it is
     * @param variadicFrom index of the first variadic argument, or -1
     */
    ControlCall(String name, Supplier<FunctionDescriptor> descriptor, Supplier<MemorySegment> function,
            int variadicFrom) {
        this.name = name;
        this.descriptor = descriptor;
        this.function = function;
        this.variadicFrom = variadicFrom;
    }

    /** The C name. */
    String name() {
        return name;
    }

    /** The handle in the form {@code Object(Object[])}, the first element being the memory for errno. */
    private MethodHandle handle() {
        MethodHandle linked = handle;
        if (linked == null) {
            MethodHandle exact = IbverbsCalls.link(function.get(), descriptor.get(), variadicFrom);
            linked = exact.asType(exact.type().generic()).asSpreader(Object[].class, exact.type().parameterCount());
            handle = linked;
        }
        return linked;
    }

    private Object invoke(MemorySegment captured, Object[] arguments) {
        Object[] all = new Object[arguments.length + 1];
        all[0] = captured;
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        try {
            return (Object) handle().invokeExact(all);
        } catch (Throwable t) {
            throw IbverbsCalls.unexpected(t);
        }
    }

    /**
     * Calls a function that returns void.
     *
     * @param arguments its arguments, of exactly the types of the descriptor
     */
    void run(Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            invoke(arena.allocate(IbverbsCalls.CAPTURED_BYTES), arguments);
        }
    }

    /**
     * Calls a function that returns 0 or an error, in any of the ways that {@link IbverbsCalls#errorNumber} knows.
     *
     * @param arguments its arguments, of exactly the types of the descriptor
     * @return 0 or a positive errno
     */
    int error(Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment captured = arena.allocate(IbverbsCalls.CAPTURED_BYTES);
            int result = (Integer) invoke(captured, arguments);
            return IbverbsCalls.errorNumber(result, IbverbsCalls.capturedErrno(captured));
        }
    }

    /**
     * Calls a function that returns 0 or an error.
     *
     * @param text the arguments that matter to a person
     * @param arguments its arguments, of exactly the types of the descriptor
     * @throws VerbsException if it failed
     */
    void check(String text, Object... arguments) throws VerbsException {
        int error = error(arguments);
        if (error != 0) {
            throw failure(error, text);
        }
    }

    /**
     * Calls a function that returns a number from 0, or -1 with errno.
     *
     * @param text the arguments that matter to a person
     * @param arguments its arguments, of exactly the types of the descriptor
     * @return the number
     * @throws VerbsException if it failed
     */
    int number(String text, Object... arguments) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment captured = arena.allocate(IbverbsCalls.CAPTURED_BYTES);
            int result = (Integer) invoke(captured, arguments);
            if (result < 0) {
                throw failure(IbverbsCalls.capturedErrno(captured), text);
            }
            return result;
        }
    }

    /**
     * Calls a function that returns a 64-bit number and cannot fail.
     *
     * @param arguments its arguments, of exactly the types of the descriptor
     * @return the number
     */
    long longNumber(Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            return (Long) invoke(arena.allocate(IbverbsCalls.CAPTURED_BYTES), arguments);
        }
    }

    /**
     * Calls a function that returns a pointer, or NULL with errno.
     *
     * @param text the arguments that matter to a person
     * @param arguments its arguments, of exactly the types of the descriptor
     * @return memory without bounds at the pointer
     * @throws VerbsException if it was NULL
     */
    MemorySegment pointer(String text, Object... arguments) throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment captured = arena.allocate(IbverbsCalls.CAPTURED_BYTES);
            MemorySegment result = (MemorySegment) invoke(captured, arguments);
            if (result.address() == 0) {
                throw failure(IbverbsCalls.capturedErrno(captured), text);
            }
            return result;
        }
    }

    /**
     * The exception for a failure of this function.
     *
     * @param errorNumber positive errno
     * @param text the arguments that matter to a person
     * @return the exception, with a remedy where one is known
     */
    VerbsException failure(int errorNumber, String text) {
        return new VerbsException(name, errorNumber, text, Remedies.of(name, errorNumber));
    }
}
