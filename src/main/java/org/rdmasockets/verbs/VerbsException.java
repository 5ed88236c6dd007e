package org.rdmasockets.verbs;

import java.io.IOException;
import java.util.Objects;

/**
 * A verbs or connection manager call failed: which call, which errno, with which arguments, and what to do about it.
 * Where no C function is behind an operation, the call is the name of the operation.
 * The text reads {@code ibv_reg_mr failed: ENOMEM (12): lengthBytes=1048576; raise the memlock limit (ulimit -l)}.
 *
 * @since 0.1
 */
public final class VerbsException extends IOException {
    private static final long serialVersionUID = 1L;

    /** The C function or the operation that failed. */
    private final String call;
    /** The name of the error number. */
    private final Errno errno;
    /** The error number itself, positive. */
    private final int errorNumber;
    /** The remedy for a person, or the reason; may be empty. */
    private final String remedy;

    /**
     * A failed call.
     *
     * @param call the C function, such as {@code ibv_reg_mr}, or the name of an operation of this library
     * @param errorNumber the errno, of either sign; 0 when the failure has none
     * @param arguments the arguments that matter, as {@code name=value} pairs; may be empty
     * @param remedy advice for a person; may be empty
     */
    public VerbsException(String call, int errorNumber, String arguments, String remedy) {
        super(text(call, errorNumber, arguments, remedy));
        this.call = Objects.requireNonNull(call);
        this.errorNumber = Math.abs(errorNumber);
        this.errno = Errno.of(errorNumber);
        this.remedy = remedy;
    }

    /**
     * A failed call with nothing to add.
     *
     * @param call the C function, or the name of an operation of this library
     * @param errno the error
     * @param arguments the arguments that matter, as {@code name=value} pairs; may be empty
     */
    public VerbsException(String call, Errno errno, String arguments) {
        this(call, errno.number(), arguments, "");
    }

    private static String text(String call, int errorNumber, String arguments, String remedy) {
        StringBuilder text = new StringBuilder(call).append(" failed");
        if (errorNumber != 0) {
            text.append(": ").append(Errno.of(errorNumber)).append(" (").append(Math.abs(errorNumber)).append(')');
        }
        if (!arguments.isEmpty()) {
            text.append(": ").append(arguments);
        }
        if (!remedy.isEmpty()) {
            text.append("; ").append(remedy);
        }
        return text.toString();
    }

    /** {@return the C function or the operation that failed, by its name} */
    public String call() {
        return call;
    }

    /**
     * The error by name.
     *
     * @return the name, {@link Errno#UNKNOWN} for a number without one, {@link Errno#OK} when there was none
     */
    public Errno errno() {
        return errno;
    }

    /** {@return the error number as the call gave it, positive, or 0 when the failure has none} */
    public int errorNumber() {
        return errorNumber;
    }

    /** {@return the remedy for a person, a clause without a full stop, perhaps empty} */
    public String remedy() {
        return remedy;
    }

    /** {@return the cause of the failure: the class of {@link #errno}} */
    public ErrorClass errorClass() {
        return errno.errorClass();
    }
}
