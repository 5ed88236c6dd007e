package org.rdmasockets;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import org.rdmasockets.verbs.VerbsException;

/**
 * The exceptions of {@link RdmaSocketImpl}, apart from it also because compilers would put their making into the frames
 * of those who wait.
 */
final class SocketErrors {
    private SocketErrors() {}

    /** For every operation after close. */
    static SocketException closed() {
        return new SocketException("Socket closed");
    }

    /** Why there is no connection. */
    static SocketException noConnection(boolean closed) {
        return closed ? closed() : new SocketException("Not connected");
    }

    /** Whether an exception says that this virtual thread was interrupted. */
    static boolean isInterruptOfVirtualThread(Exception e) {
        return e instanceof InterruptedIOException && !(e instanceof SocketTimeoutException)
                && Thread.currentThread().isVirtual();
    }

    /** Users of {@code java.net} expect its exceptions; what only this library throws becomes one, with its text. */
    static IOException asSocketException(Exception e) {
        return switch (e) {
            case VerbsException v -> new SocketException(v.getMessage(), v);
            case IOException own -> own;
            default -> new SocketException(e.toString(), e);
        };
    }
}
