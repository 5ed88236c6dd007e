package org.rdmasockets.internal.ffi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import org.rdmasockets.verbs.VerbsException;

/**
 * A function of the C library: errno is captured on every call, and a failure names function, errno, arguments and
 * remedy. Any thread may call.
 *
 * <p>All functions share one native signature, six integers or pointers in registers, because each further signature
 * costs a starting JVM some twenty classes and ten milliseconds. A function does not look at registers that it has no
 * argument in, nor at the upper half of one that has an int; a variadic one takes integers from the same registers.
 */
@SuppressWarnings("restricted")
final class NativeFunction {
    /** Most arguments that travel in registers, on x86-64. */
    private static final int MOST_ARGUMENTS = 6;
    /** How often a call that others wait for, such as a wake-up, is tried again. */
    private static final int SURE_TRIES = 20;

    /**
     * The one signature, on its own because {@link SharedMemoryAvailability} tries it: where native access is denied it
     * fails.
     */
    static final class Signature {
        private Signature() {}

        /** Links it: the handle takes the address of a function, memory for errno, and the arguments. */
        static MethodHandle link() {
            return Linker.nativeLinker().downcallHandle(
                    FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                    Linker.Option.captureCallState("errno"));
        }

        /** The address of a function of the C library, null if it has none. */
        static MemorySegment find(String name) {
            return Linker.nativeLinker().defaultLookup().find(name).orElse(null);
        }
    }

    private static final MethodHandle CALL = Signature.link();

    private final String name;
    /** Whether the function returns 64 bits, and not an int. */
    private final boolean returnsLong;
    /** Where the function is, looked up at the first call; threads that come together find the same. */
    private MemorySegment address;

    private NativeFunction(String name, boolean returnsLong) {
        this.name = name;
        this.returnsLong = returnsLong;
    }

    /** A function that returns an int. */
    static NativeFunction returningInt(String name) {
        return new NativeFunction(name, false);
    }

    /** A function that returns a long or a pointer. */
    static NativeFunction returningLong(String name) {
        return new NativeFunction(name, true);
    }

    /** Calls the function, with pointers as addresses: what it returned, or the errno negated if that was -1. */
    long call(long... arguments) {
        long[] all = arguments.length == MOST_ARGUMENTS ? arguments : Arrays.copyOf(arguments, MOST_ARGUMENTS);
        try (Arena arena = Arena.ofConfined()) {
            Captured captured = new Captured(arena);
            return result(captured, (long) CALL.invokeExact(address(), captured.memory, all[0], all[1], all[2], all[3],
                    all[4], all[5]));
        } catch (Throwable t) {
            throw Posix.unexpected(t);
        }
    }

    /** The same for at most four arguments, without allocating. */
    long call(Captured captured, long first, long second, long third, long fourth) {
        try {
            return result(captured,
                    (long) CALL.invokeExact(address(), captured.memory, first, second, third, fourth, 0L, 0L));
        } catch (Throwable t) {
            throw Posix.unexpected(t);
        }
    }

    /**
     * Calls the function without allocating, and again after an {@code Error}, which comes before the function is
     * called: for calls without which something is lost, or waited for in vain. Once it was called it is not called
     * again, even if this throws: a descriptor or a range may have another owner by then. A sixth argument is 0.
     */
    long callSurely(Captured captured, long first, long second, long third, long fourth, long fifth) {
        boolean called = false;
        long returned = 0;
        for (int left = SURE_TRIES;; left--) {
            try {
                if (!called) {
                    returned = (long) CALL.invokeExact(address(), captured.memory, first, second, third, fourth, fifth,
                            0L);
                    called = true;
                }
                return result(captured, returned);
            } catch (Throwable t) { // others depend on it, whatever this thread lacks
                if (left == 0 || !(t instanceof Error)) {
                    throw Posix.unexpected(t);
                }
            }
        }
    }

    private MemorySegment address() {
        MemorySegment found = address;
        if (found == null) {
            found = Signature.find(name);
            if (found == null) {
                throw new UnsupportedOperationException("the C library has no function " + name);
            }
            address = found;
        }
        return found;
    }

    private long result(Captured captured, long returned) {
        long result = returnsLong ? returned : (int) returned;
        return result == -1 ? -captured.errno() : result;
    }

    /** Calls and expects success; the text has the arguments that matter, as {@code name=value} pairs. */
    long check(String text, long... arguments) throws VerbsException {
        long result = call(arguments);
        if (result < 0) {
            throw failure(-result, text);
        }
        return result;
    }

    /** The exception for a failure, with the arguments that matter to a person, and a remedy if one is known. */
    VerbsException failure(long errorNumber, String text) {
        return new VerbsException(name, (int) errorNumber, text, SharedMemoryRemedies.of(name, (int) errorNumber));
    }
}
