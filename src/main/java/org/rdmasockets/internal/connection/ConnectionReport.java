package org.rdmasockets.internal.connection;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * The connections of this process as lines of text, for an operator who asks from another process; this class is not
 * loaded before that. The numbers are looked at without a lock: each is of a moment, none makes a connection wait.
 *
 * <p>A line is a connection: names and values in turn, separated by tabs, and no character that ends a line or a value
 * is in one. Times are in milliseconds, all other numbers in bytes or pieces.
 */
public final class ConnectionReport {
    /** Connections that are told of; of more, only their number is. */
    private static final int MOST = 10_000;
    private static final char SEPARATOR = '\t';

    private final long now = System.nanoTime();
    private final StringBuilder text = new StringBuilder();
    /** The state that the connection itself gives, which comes before that of its stream; null for none. */
    private String state;
    private int count;

    private ConnectionReport() {}

    /**
     * The connections of this copy of the library. Any thread; waits for none.
     *
     * @return a line for each, 10,000 at most
     */
    public static String now() {
        ConnectionReport report = new ConnectionReport();
        Engine.tellAll(report);
        TcpConnection.tellAll(report);
        return report.text.append('\n').toString();
    }

    /** Begins a line; false if there are enough. */
    boolean begin() {
        if (count == MOST) {
            return false;
        }
        text.append(count++ == 0 ? "" : "\n");
        return true;
    }

    /** Tells of the transport and the addresses; the state is null if only the stream knows it. */
    void end(String transport, InetSocketAddress local, InetSocketAddress remote, String known) {
        put("transport", transport);
        put("local", text(local));
        put("remote", text(remote));
        state = known;
        if (known != null) {
            put("state", known);
        }
    }

    /** The address and port, as they are written: without a name that the application may have given. */
    private static String text(InetSocketAddress address) {
        String host = address.isUnresolved() ? address.getHostString() : address.getAddress().getHostAddress();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }

    /** Tells of the stream's state, unless the connection's is known. */
    void state(String ofStream) {
        if (state == null) {
            put("state", ofStream);
        }
    }

    /** Tells how long ago something was, by its time of {@code System.nanoTime}. */
    void since(String name, long then) {
        put(name, TimeUnit.NANOSECONDS.toMillis(Math.max(0, now - then)));
    }

    /** Tells why the transport was chosen; null if the application has not got the connection yet. */
    void because(String reason) {
        put("reason", reason == null ? "not accepted yet" : reason);
    }

    /** Tells how many bytes the application has written, and read. */
    void bytes(long sent, long received) {
        put("sent", sent);
        put("received", received);
    }

    /** Tells a number. */
    void put(String name, long value) {
        put(name, Long.toString(value));
    }

    /** Tells a text. */
    void put(String name, String value) {
        if (!text.isEmpty() && text.charAt(text.length() - 1) != '\n') {
            text.append(SEPARATOR);
        }
        text.append(name).append(SEPARATOR);
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            text.append(Character.isISOControl(c) ? ' ' : c);
        }
    }
}
