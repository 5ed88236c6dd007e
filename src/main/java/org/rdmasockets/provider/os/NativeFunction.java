package org.rdmasockets.provider.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmasockets.verbs.VerbsException;

/**
 * A function of the C library for set-up and teardown: arguments travel in an array, errno is captured on every call,
 * and a failure names function, errno, arguments and remedy. Any thread may call.
 */
final class NativeFunction {
    private final String name;
    /** Takes an array: the memory for errno, then the arguments. */
    private final MethodHandle handle;

    private NativeFunction(String name, FunctionDescriptor descriptor, Linker.Option... options) {
        this.name = name;
        MethodHandle exact = Posix.link(name, descriptor, options);
        handle = exact.asType(exact.type().generic()).asSpreader(Object[].class, exact.type().parameterCount());
    }

    /** A function that returns an int. */
    static NativeFunction returningInt(String name, MemoryLayout... arguments) {
        return new NativeFunction(name, FunctionDescriptor.of(JAVA_INT, arguments), Posix.captureErrno());
    }

    /** A function that returns a long or a pointer. */
    static NativeFunction returningLong(String name, MemoryLayout... arguments) {
        return new NativeFunction(name, FunctionDescriptor.of(JAVA_LONG, arguments), Posix.captureErrno());
    }

    /** A function that returns an int and has a variadic argument from the given index. */
    static NativeFunction variadic(String name, int variadicFrom, MemoryLayout... arguments) {
        return new NativeFunction(name, FunctionDescriptor.of(JAVA_INT, arguments), Posix.captureErrno(),
                Linker.Option.firstVariadicArg(variadicFrom));
    }

    /** The C name. */
    String name() {
        return name;
    }

    /**
     * Calls the function.
     *
     * @param arguments its arguments, of exactly the types it was linked with
     * @return what it returned, or the errno negated if that was -1
     */
    long call(Object... arguments) {
        Object[] all = new Object[arguments.length + 1];
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment captured = arena.allocate(Posix.CAPTURED_BYTES);
            all[0] = captured;
            long result = ((Number) (Object) handle.invokeExact(all)).longValue();
            return result == -1 ? -Posix.capturedErrno(captured) : result;
        } catch (Throwable t) {
            throw Posix.unexpected(t);
        }
    }

    /**
     * Calls the function and expects success.
     *
     * @param text the arguments that matter to a person, as {@code name=value} pairs
     * @param arguments its arguments, of exactly the types it was linked with
     * @return what it returned
     * @throws VerbsException if that was -1
     */
    long check(String text, Object... arguments) throws VerbsException {
        long result = call(arguments);
        if (result < 0) {
            throw failure(-result, text);
        }
        return result;
    }

    /**
     * The exception for a failure of this function.
     *
     * @param errorNumber positive errno
     * @param text the arguments that matter to a person
     * @return the exception, with a remedy where one is known
     */
    VerbsException failure(long errorNumber, String text) {
        return new VerbsException(name, (int) errorNumber, text, Remedies.of(name, (int) errorNumber));
    }
}
