package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.SocketException;
import java.net.SocketOption;
import java.util.Map;
import java.util.Set;

/**
 * An application's wishes for a socket before its transport is known: the sizes for RDMA; the options that were
 * set, as the carrier takes them; whether urgent data is to be read in the stream, which only TCP can; and whether it
 * is direct: no proxy is asked for, as with {@code new Socket(Proxy.NO_PROXY)}.
 */
public record PendingOptions(StreamOptions sizes, Map<SocketOption<?>, Object> set, boolean urgentInline,
        boolean direct) {
    /** Takes a snapshot. */
    public PendingOptions {
        set = Map.copyOf(set);
    }

    /** Refuses to read urgent data in the stream, which only TCP can. */
    public void ensureNotUrgent() throws SocketException {
        if (urgentInline) {
            throw NetErrors.notUrgent();
        }
    }

    /** Where an option can be set. */
    @FunctionalInterface
    interface Target {
        <T> void set(SocketOption<T> name, T value) throws IOException;
    }

    /** Sets what was set here on a socket too, as far as it has the options. */
    void applyTo(Set<SocketOption<?>> supported, Target target) throws IOException {
        for (Map.Entry<SocketOption<?>, Object> each : set.entrySet()) {
            if (supported.contains(each.getKey())) {
                apply(each.getKey(), each.getValue(), target);
            }
        }
    }

    private static <T> void apply(SocketOption<T> name, Object value, Target target) throws IOException {
        target.set(name, name.type().cast(value));
    }
}
