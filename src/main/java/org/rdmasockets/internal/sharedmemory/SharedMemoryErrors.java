package org.rdmasockets.internal.sharedmemory;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** The exceptions of this provider, in the words that every provider uses. */
final class SharedMemoryErrors {
    private SharedMemoryErrors() {}

    /** A call on something closed, such as {@code queue pair}. */
    static VerbsException closed(String call, String what) {
        return new VerbsException(call, Errno.ESHUTDOWN, "the " + what + " is closed");
    }

    /** Refuses a call on something that is closed. */
    static void requireOpen(boolean open, String call, String what) throws VerbsException {
        if (!open) {
            throw closed(call, what);
        }
    }

    /** A call with arguments, or in a state, that it cannot have, and what to do about it. */
    static VerbsException invalid(String call, String arguments, String remedy) {
        return new VerbsException(call, Errno.EINVAL.number(), arguments, remedy);
    }

    /** An address as messages spell it. */
    static String text(InetSocketAddress address) {
        if (address == null) {
            return "none";
        }
        InetAddress host = address.getAddress();
        return (host == null ? address.getHostString() : host.getHostAddress()) + ":" + address.getPort();
    }
}
