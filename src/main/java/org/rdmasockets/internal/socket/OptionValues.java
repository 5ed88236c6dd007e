package org.rdmasockets.internal.socket;

import java.net.SocketOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.connection.Interner;
import org.rdmasockets.internal.connection.PendingOptions;
import org.rdmasockets.internal.connection.StreamOptions;

/**
 * The values of a socket's options. Sockets with equal values share one object, so they never change after
 * {@link #shared}: a setter changes a {@link #copy}.
 */
public final class OptionValues {
    private static final Interner<OptionValues> RECENT = new Interner<>();
    /** The values that sockets begin with, and server sockets. */
    private static final OptionValues CLIENT = new OptionValues().shared();
    private static final OptionValues SERVER = forServer();

    /** The transport asked for, null for none; once it is chosen, what it is and why. */
    Transport transport;
    /** The wishes for a connection over RDMA; once there is one, its stream is of the kind that they name. */
    StreamOptions sizes = StreamOptions.DEFAULT;
    /** Seconds that close waits for delivery, 0 to reset instead, negative for neither. */
    int lingerSeconds = -1;
    /** Kept for programs that set it: nothing is ever held back to be sent together. */
    boolean noDelay;
    /** Kept for programs that set it: ports of closed RDMA sockets are free at once. */
    boolean reuseAddress;
    /** Urgent data is read in the stream, which only TCP can. */
    boolean urgentInline;
    /** No proxy is asked for. */
    boolean direct;
    /** The options set while the transport was unknown, in order; null for none. */
    private Map<SocketOption<?>, Object> set;

    private static OptionValues forServer() {
        OptionValues values = new OptionValues();
        values.reuseAddress = true; // as the JDK's server sockets on Linux
        return values.shared();
    }

    /** The values of a new socket; {@code direct} if it asks for no proxy. */
    static OptionValues initial(boolean server, boolean direct) {
        OptionValues values = server ? SERVER : CLIENT;
        if (direct) {
            values = values.copy();
            values.direct = true;
            values = values.shared();
        }
        return values;
    }

    /** The values of a socket that had the given ones, and now has a connection that a listener with these accepted. */
    OptionValues passedOn(OptionValues before) {
        OptionValues changed = before.copy();
        changed.inherit(this);
        return changed.shared();
    }

    /** These values once there is a connection: what it goes over, and why, and how its stream is carried. */
    OptionValues connected(String over, String reason, String kind) {
        OptionValues changed = copy();
        changed.transport = new Transport(over, reason);
        changed.sizes = sizes.withStreamKind(kind);
        changed.forgetSet();
        return changed.shared();
    }

    /** Records an option that the application has set, for a transport that is not known yet. */
    void noteSet(SocketOption<?> name, Object value) {
        if (set == null) {
            set = new LinkedHashMap<>();
        }
        set.put(name, value);
    }

    /** Forgets the options that {@link #noteSet} recorded: the transport is known, and has them. */
    void forgetSet() {
        set = null;
    }

    /** The options that the transport to be needs to know, as they are now. */
    PendingOptions wishes() {
        return new PendingOptions(sizes, set == null ? Map.of() : set, urgentInline, direct);
    }

    /** Asks for a transport; that of datagrams is none of streams. */
    void wantTransport(Transport wanted) {
        if (wanted.is(Transport.UDP)) {
            throw new IllegalArgumentException("udp carries no streams: one of auto, sharedmemory, ibverbs, tcp is "
                    + "wanted");
        }
        transport = wanted;
    }

    /** The transport asked for, null if the settings decide. */
    String wantedTransport() {
        return transport == null ? null : transport.name();
    }

    /** The same values, to be changed. */
    OptionValues copy() {
        OptionValues copy = new OptionValues();
        copy.transport = transport;
        copy.sizes = sizes;
        copy.lingerSeconds = lingerSeconds;
        copy.noDelay = noDelay;
        copy.reuseAddress = reuseAddress;
        copy.urgentInline = urgentInline;
        copy.direct = direct;
        copy.set = set == null ? null : new LinkedHashMap<>(set);
        return copy;
    }

    /** These values, or the equal ones of another socket; neither may change any more. */
    OptionValues shared() {
        return RECENT.same(this);
    }

    /** Makes no objects: each connection asks a few times. */
    @Override
    public boolean equals(Object object) {
        return object instanceof OptionValues other && sizes.equals(other.sizes)
                && lingerSeconds == other.lingerSeconds && noDelay == other.noDelay
                && reuseAddress == other.reuseAddress && urgentInline == other.urgentInline && direct == other.direct
                && Objects.equals(transport, other.transport) && Objects.equals(set, other.set);
    }

    /** Covers the values that differ between sockets of one program. */
    @Override
    public int hashCode() {
        int hash = Objects.hashCode(transport);
        hash = 31 * hash + sizes.hashCode();
        hash = 31 * hash + lingerSeconds;
        return 31 * hash + (noDelay ? 1 : 0) + (reuseAddress ? 4 : 0) + (direct ? 8 : 0);
    }

    /**
     * Takes over what an accepted connection has from its listener: the sizes that it was made with, and what a kernel
     * passes on with TCP. Linger, keep-alive and TCP_NODELAY are not among it: server sockets do not have them.
     */
    void inherit(OptionValues listener) {
        set = null;
        sizes = listener.sizes.withKeepAlive(sizes.keepAlive());
        reuseAddress = listener.reuseAddress;
    }
}
