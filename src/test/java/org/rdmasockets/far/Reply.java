package org.rdmasockets.far;

import java.io.Serializable;

/**
 * The end of a call.
 *
 * @param number of the call
 * @param value result, which may be null
 * @param failure the exception or error that it threw, or null
 * @param interrupted whether the thread's interrupt status was set at the end
 * @param interruptsTaken how many later interrupts of the caller reached it
 */
@SuppressWarnings("serial") // the value of a question that was asked properly can be serialized
record Reply(long number, Object value, Throwable failure, boolean interrupted, int interruptsTaken)
        implements Serializable {
    /** The call did not end: its process did. */
    static Reply gone(long number) {
        return new Reply(number, null, new IllegalStateException("the other JVM has gone"), false, 0);
    }
}
