package org.rdmasockets.internal.socket;

import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketOptions;
import java.net.StandardSocketOptions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import jdk.net.ExtendedSocketOptions;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.StreamKind;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.connection.StreamOptions.Option;

/** An option of RDMA sockets: when it can be set, whether a server socket has it too, how it is read and written. */
public record SupportedOption<T>(SocketOption<T> name, Time time, boolean onServer, Function<OptionValues, T> reader,
        Writer<T> writer) {
    /** When an option can be set. */
    enum Time {
        /** Until the socket is bound or connected; refused later. */
        BEFORE_BIND,
        /** Until the socket is connected; refused later. */
        BEFORE_CONNECT,
        /** A hint: until the socket is connected; later without effect. */
        HINT,
        /** Always, with effect on what the connection does from then on. */
        ALWAYS,
        /** Always, and the connection must be told. */
        TOLD
    }

    /** Checks and sets a value. */
    @FunctionalInterface
    interface Writer<T> {
        /** Sets the value, which is not null; throws if the system would refuse it. */
        void write(OptionValues values, T value) throws SocketException;
    }

    private static final int MAX_LINGER_SECONDS = 65535;
    /** Linux keeps these to itself. */
    private static final int CONGESTION_BITS = 3;
    /** Largest keep-alive time that Linux takes, in seconds. */
    private static final int MAX_KEEP_SECONDS = 32767;

    /** By the name; in the order of the documentation. */
    private static final Map<SocketOption<?>, SupportedOption<?>> ALL = all().stream().collect(Collectors.toMap(
            SupportedOption::name, o -> o, (a, b) -> a, LinkedHashMap::new));

    private static final Set<SocketOption<?>> CLIENT = Set.copyOf(ALL.keySet());
    private static final Set<SocketOption<?>> SERVER = ALL.values().stream().filter(SupportedOption::onServer)
            .map(SupportedOption::name).collect(Collectors.toUnmodifiableSet());

    static Set<SocketOption<?>> names(boolean server) {
        return server ? SERVER : CLIENT;
    }

    /** Finds an option of one kind of socket; throws {@code UnsupportedOperationException} if there is none. */
    @SuppressWarnings("unchecked") // the table maps a name to an option of the same type
    static <T> SupportedOption<T> of(SocketOption<T> name, boolean server) {
        SupportedOption<?> option = ALL.get(name);
        if (option == null || server && !option.onServer) {
            throw new UnsupportedOperationException("'" + name + "' not supported");
        }
        return (SupportedOption<T>) option;
    }

    /** Finds the option of a number of {@code java.net.SocketOptions}, such as {@code SO_RCVBUF}; throws if none. */
    static SupportedOption<?> byNumber(int id, boolean server) throws SocketException {
        SocketOption<?> name = switch (id) {
            case SocketOptions.SO_RCVBUF -> StandardSocketOptions.SO_RCVBUF;
            case SocketOptions.SO_SNDBUF -> StandardSocketOptions.SO_SNDBUF;
            case SocketOptions.SO_KEEPALIVE -> StandardSocketOptions.SO_KEEPALIVE;
            case SocketOptions.SO_LINGER -> StandardSocketOptions.SO_LINGER;
            case SocketOptions.SO_REUSEADDR -> StandardSocketOptions.SO_REUSEADDR;
            case SocketOptions.TCP_NODELAY -> StandardSocketOptions.TCP_NODELAY;
            case SocketOptions.IP_TOS -> StandardSocketOptions.IP_TOS;
            default -> throw new SocketException("Unknown option " + id);
        };
        return of(name, server);
    }

    /** Refuses to be set too late: {@code connected} includes about to be, {@code bound} includes connected. */
    void ensureInTime(boolean connected, boolean bound) throws SocketException {
        if (time == Time.BEFORE_CONNECT && connected || time == Time.BEFORE_BIND && bound) {
            throw new SocketException(name + " can be set only before the socket is "
                    + (time == Time.BEFORE_BIND ? "bound or " : "") + "connected");
        }
    }

    /**
     * Sets the value; throws {@code IllegalArgumentException} if it is null, of another type or out of range,
     * {@code SocketException} if the system would refuse it.
     */
    void set(OptionValues values, Object value) throws SocketException {
        if (!name.type().isInstance(value)) {
            throw new IllegalArgumentException("Invalid value '" + value + "'");
        }
        writer.write(values, name.type().cast(value));
    }

    /**
     * Turns a value into one of another copy of its class, if it is of a class of the same name that another class
     * loader has loaded: under the agent the application may bring this library too. Others stay unchanged.
     */
    @SuppressWarnings("unchecked") // set refuses a value of the wrong type
    static <T> T as(Class<T> type, Object value) {
        if (value == null || type == value.getClass() || !type.getName().equals(value.getClass().getName())) {
            return (T) value;
        }
        try {
            if (value instanceof Enum<?> constant) {
                return (T) type.getMethod("valueOf", String.class).invoke(null, constant.name());
            }
            // A Transport: what both have.
            Class<?> theirs = value.getClass();
            return type.getConstructor(String.class, String.class).newInstance(
                    theirs.getMethod("name").invoke(value), theirs.getMethod("reason").invoke(value));
        } catch (ReflectiveOperationException e) {
            throw new UnsupportedOperationException("'" + value + "' is a value of another version of rdma-sockets", e);
        }
    }

    private static Collection<SupportedOption<?>> all() {
        List<SupportedOption<?>> all = new ArrayList<>();
        all.addAll(standard());
        all.addAll(ours());
        try {
            all.addAll(extended());
        } catch (NoClassDefFoundError e) {
            // An image without module jdk.net: no code can name these options there.
        }
        return all;
    }

    private static List<SupportedOption<?>> standard() {
        return List.of(
                number(StandardSocketOptions.SO_RCVBUF, Time.HINT, true, Option.RECEIVE_BUFFER_BYTES,
                        SupportedOption::bufferBytes),
                number(StandardSocketOptions.SO_SNDBUF, Time.HINT, false, Option.SEND_BUFFER_BYTES,
                        SupportedOption::bufferBytes),
                new SupportedOption<>(StandardSocketOptions.SO_KEEPALIVE, Time.TOLD, false, v -> v.sizes.keepAlive(),
                        (v, on) -> v.sizes = v.sizes.withKeepAlive(on)),
                new SupportedOption<>(StandardSocketOptions.SO_LINGER, Time.ALWAYS, false, v -> v.lingerSeconds,
                        (v, seconds) -> v.lingerSeconds = Math.clamp(seconds, -1, MAX_LINGER_SECONDS)),
                new SupportedOption<>(StandardSocketOptions.SO_REUSEADDR, Time.ALWAYS, true, v -> v.reuseAddress,
                        (v, on) -> v.reuseAddress = on),
                new SupportedOption<>(StandardSocketOptions.TCP_NODELAY, Time.ALWAYS, false, v -> v.noDelay,
                        (v, on) -> v.noDelay = on),
                number(StandardSocketOptions.IP_TOS, Time.ALWAYS, true, Option.TRAFFIC_CLASS,
                        SupportedOption::trafficClass));
    }

    private static List<SupportedOption<?>> ours() {
        return List.of(
                new SupportedOption<>(RdmaSocketOptions.TRANSPORT, Time.BEFORE_BIND, true,
                        v -> v.transport == null ? Transport.AUTO : v.transport, OptionValues::wantTransport),
                inRange(RdmaSocketOptions.RDMA_SQSIZE, Time.BEFORE_CONNECT, Option.SEND_QUEUE),
                inRange(RdmaSocketOptions.RDMA_RQSIZE, Time.BEFORE_CONNECT, Option.RECEIVE_QUEUE),
                inRange(RdmaSocketOptions.RDMA_INLINE, Time.BEFORE_CONNECT, Option.INLINE_BYTES),
                inRange(RdmaSocketOptions.RDMA_IOMAPSIZE, Time.BEFORE_CONNECT, Option.MAPS),
                new SupportedOption<>(RdmaSocketOptions.STREAM_KIND, Time.BEFORE_CONNECT, true,
                        v -> StreamKind.valueOf(v.sizes.streamKind()),
                        (v, kind) -> v.sizes = v.sizes.withStreamKind(kind.name())),
                inRange(RdmaSocketOptions.MESSAGE_BYTES, Time.BEFORE_CONNECT, Option.MESSAGE_BYTES),
                inRange(RdmaSocketOptions.SPIN_MICROS, Time.TOLD, Option.SPIN_MICROS));
    }

    private static List<SupportedOption<?>> extended() {
        return List.of(
                number(ExtendedSocketOptions.TCP_KEEPIDLE, Time.TOLD, true, Option.KEEP_ALIVE_IDLE_SECONDS,
                        seconds -> accepted(seconds, MAX_KEEP_SECONDS)),
                number(ExtendedSocketOptions.TCP_KEEPINTERVAL, Time.TOLD, true, Option.KEEP_ALIVE_INTERVAL_SECONDS,
                        seconds -> accepted(seconds, MAX_KEEP_SECONDS)),
                number(ExtendedSocketOptions.TCP_KEEPCOUNT, Time.TOLD, true, Option.KEEP_ALIVE_COUNT,
                        count -> accepted(count, Option.KEEP_ALIVE_COUNT.most())));
    }

    /** Gives the value to set, or throws if the system would refuse it. */
    @FunctionalInterface
    private interface Check {
        int checked(int value) throws SocketException;
    }

    /** A number that a connection is made with; one that passes the check becomes the nearest that is possible. */
    private static SupportedOption<Integer> number(SocketOption<Integer> name, Time time, boolean onServer,
            Option option, Check check) {
        return new SupportedOption<>(name, time, onServer, v -> v.sizes.get(option),
                (v, number) -> v.sizes = v.sizes.with(option, check.checked(number)));
    }

    /** The same where a number out of range is refused. */
    private static SupportedOption<Integer> inRange(SocketOption<Integer> name, Time time, Option option) {
        return number(name, time, true, option, value -> option.checked(name, value));
    }

    private static int bufferBytes(int bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("Invalid send/receive buffer size");
        }
        return bytes;
    }

    private static int trafficClass(int bits) {
        if (bits < 0 || bits > Option.TRAFFIC_CLASS.most()) {
            throw new IllegalArgumentException("Invalid IP_TOS value");
        }
        return bits & ~CONGESTION_BITS;
    }

    /** Linux takes these from 1; the JDK passes its refusal on with this text. */
    private static int accepted(int value, int most) throws SocketException {
        if (value < 1 || value > most) {
            throw new SocketException("Invalid argument");
        }
        return value;
    }
}
