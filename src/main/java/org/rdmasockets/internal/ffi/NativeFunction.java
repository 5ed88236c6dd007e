package org.rdmasockets.internal.ffi;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A function of C, by default of the C library: errno is captured on every call, and a failure names function, errno,
 * arguments and remedy. Any thread may call. Arguments are numbers, and addresses for pointers.
 *
 * <p>All functions share one native signature, six integers or pointers in registers, because each further signature
 * costs a starting JVM some twenty classes and ten milliseconds. A function does not look at registers that it has no
 * argument in, nor at the upper half of one that has an int; a variadic one takes integers from the same registers.
 */
@SuppressWarnings("restricted")
public class NativeFunction {
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

    /** The name in C. */
    public final String name;
    /** Whether the function returns 64 bits, and not an int. */
    private final boolean returnsLong;
    /** Where the function is, looked up at the first call; threads that come together find the same. */
    private MemorySegment address;

    /** A function that returns a long or a pointer, or else an int. */
    protected NativeFunction(String name, boolean returnsLong) {
        this.name = name;
        this.returnsLong = returnsLong;
    }

    /** A function of the C library that returns an int. */
    public static NativeFunction returningInt(String name) {
        return new NativeFunction(name, false);
    }

    /** A function of the C library that returns a long or a pointer. */
    public static NativeFunction returningLong(String name) {
        return new NativeFunction(name, true);
    }

    /** Calls the function: what it returned, or the errno negated if that was -1. */
    final long call(long... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            Captured captured = new Captured(arena);
            return result(captured, invoke(captured, arguments));
        }
    }

    /** The same for at most four arguments, without allocating. */
    public final long call(Captured captured, long first, long second, long third, long fourth) {
        try {
            return result(captured,
                    (long) CALL.invokeExact(address(), captured.memory, first, second, third, fourth, 0L, 0L));
        } catch (Throwable t) {
            throw unexpected(t);
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
                    throw unexpected(t);
                }
            }
        }
    }

    /** Calls the function: all that the register has, whose upper half means nothing after an int. */
    protected final long invoke(Captured captured, long... arguments) {
        long[] all = arguments.length == MOST_ARGUMENTS ? arguments : Arrays.copyOf(arguments, MOST_ARGUMENTS);
        try {
            return (long) CALL.invokeExact(address(), captured.memory, all[0], all[1], all[2], all[3], all[4], all[5]);
        } catch (Throwable t) {
            throw unexpected(t);
        }
    }

    /** Reads what a register has: what the function returned, or if that is -1 the errno negated, EIO if it is 0. */
    protected final long result(Captured captured, long returned) {
        long result = returnsLong ? returned : (int) returned;
        if (result != -1) {
            return result;
        }
        int errno = captured.errno();
        return errno == 0 ? -Errno.EIO.number() : -errno;
    }

    /** Looks the function up now, before a call that may not fail for lack of memory or stack. */
    public void resolve() {
        address();
    }

    /** Whether no library has the function, as an older version of one may not. */
    public final boolean isMissing() {
        return address == null && find() == null;
    }

    private MemorySegment address() {
        MemorySegment found = address;
        if (found == null) {
            found = find();
            if (found == null) {
                throw new UnsupportedOperationException("no library has a function " + name);
            }
            address = found;
        }
        return found;
    }

    /** Looks the function up: its address, or null if there is none. */
    protected MemorySegment find() {
        return Signature.find(name);
    }

    /** Calls and expects success; the text has the arguments that matter, as {@code name=value} pairs. */
    final long check(String text, long... arguments) throws VerbsException {
        long result = call(arguments);
        if (result < 0) {
            throw failure(-result, text);
        }
        return result;
    }

    /** The exception for a failure, with the arguments that matter to a person, and a remedy if one is known. */
    public final VerbsException failure(long errorNumber, String text) {
        return new VerbsException(name, (int) errorNumber, text, remedy((int) errorNumber));
    }

    /** The remedy for an error of this function, a clause without a full stop; empty if none is known. */
    protected String remedy(int errorNumber) {
        Errno errno = Errno.of(errorNumber);
        return switch (errno) {
            case ENOMEM -> name.equals("mmap")
                    ? "this process has too many mappings or too little address space: raise the sysctl "
                            + "vm.max_map_count, or ulimit -v"
                    : "the kernel is out of memory";
            case ENOSPC -> name.equals("epoll_ctl")
                    ? "the system has too many watched descriptors: raise the sysctl fs.epoll.max_user_watches"
                    : "there is no room for more shared memory: raise the memory limit of the container, or free some";
            case EAGAIN -> name.equals("connect") ? "too many processes ask for a connection at once; try again" : "";
            case ENOSYS -> "the kernel lacks this call, or a sandbox hides it; Linux 3.17 or newer has it";
            case EPERM, EACCES -> "a sandbox, seccomp filter or security module forbids it; allow this call";
            case EADDRINUSE -> "the port is taken by another process of this user; take another port";
            default -> errno.remedy();
        };
    }

    /**
     * Throws on what came out of a handle that throws nothing of its own: errors and runtime exceptions as they are.
     */
    public static AssertionError unexpected(Throwable thrown) {
        switch (thrown) {
            case Error e -> throw e;
            case RuntimeException e -> throw e;
            default -> throw new AssertionError("a native call throws nothing", thrown);
        }
    }
}
