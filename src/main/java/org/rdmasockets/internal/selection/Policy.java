package org.rdmasockets.internal.selection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.connection.Property;

/**
 * The settings of the choice. A mistake in them fails every connect and listen of a socket without a wish of its own.
 *
 * @param transport for sockets without a wish of their own, one of {@link #TRANSPORTS}
 * @param rules come before that, the first that matches
 * @param fallback whether {@code auto} may use TCP
 * @param attemptNanos longest time for one attempt of {@code auto}, in nanoseconds
 * @param mistake the error in the settings, null if there is none
 */
public record Policy(String transport, List<Rule> rules, boolean fallback, long attemptNanos, String mistake) {
    /** The first transport that leads to the peer. */
    public static final String AUTO = "auto";
    /** The transport that is always there. */
    public static final String TCP = "tcp";
    /** The transport within one host. */
    static final String SHARED_MEMORY = "sharedmemory";
    /** The transports that sockets, rules and the property can ask for. */
    static final List<String> TRANSPORTS = List.of(AUTO, SHARED_MEMORY, "ibverbs", TCP);

    /** Names of system properties. */
    static final String TRANSPORT_PROPERTY = Property.PREFIX + "transport";
    static final String RULES_PROPERTY = TRANSPORT_PROPERTY + ".rules";
    static final String FALLBACK_PROPERTY = TRANSPORT_PROPERTY + ".fallback";

    private static final String NEVER = "never";
    private static final String ALLOWED = "allowed";
    private static final int DEFAULT_ATTEMPT_MILLIS = 2_000;
    private static final int MAX_ATTEMPT_MILLIS = 60_000;

    /** The settings as the first socket found them; written under the class. */
    private static volatile Policy current;

    /** The transport to use, and why. */
    public record Decision(String transport, String reason) {
        /** Whether the choice is left to the library. */
        public boolean isAuto() {
            return transport.equals(AUTO);
        }
    }

    /** The settings of this process, mistakes included, read when they are first needed. */
    public static Policy current() {
        return current == null ? load() : current;
    }

    private static synchronized Policy load() {
        current = current == null ? of(System.getProperties()) : current;
        return current;
    }

    /** Looks for mistakes in the settings; an {@code IllegalArgumentException} says where and what is wrong. */
    public static void check(Properties properties) {
        checkedProperty(properties);
        rules(properties);
        fallback(properties);
    }

    /** Reads the settings, mistakes included. */
    static Policy of(Properties properties) {
        long attemptNanos = TimeUnit.MILLISECONDS.toNanos(
                Property.number("transport.attemptTimeout", DEFAULT_ATTEMPT_MILLIS, 1, MAX_ATTEMPT_MILLIS));
        try {
            String transport = checkedProperty(properties);
            return new Policy(transport, rules(properties), fallback(properties), attemptNanos, null);
        } catch (IllegalArgumentException e) {
            return new Policy(AUTO, List.of(), true, attemptNanos, e.getMessage());
        }
    }

    private static String checkedProperty(Properties properties) {
        try {
            return checkedTransport(properties.getProperty(TRANSPORT_PROPERTY, AUTO));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("-D" + TRANSPORT_PROPERTY + ": " + e.getMessage(), e);
        }
    }

    private static boolean fallback(Properties properties) {
        String text = properties.getProperty(FALLBACK_PROPERTY, ALLOWED);
        if (!text.equals(ALLOWED) && !text.equals(NEVER)) {
            throw new IllegalArgumentException("-D" + FALLBACK_PROPERTY + "=" + text + ": " + ALLOWED + " or " + NEVER
                    + " is wanted");
        }
        return text.equals(ALLOWED);
    }

    /** Gives a transport's name; throws {@code IllegalArgumentException} if there is none of that name. */
    static String checkedTransport(String name) {
        if (!TRANSPORTS.contains(name)) {
            throw new IllegalArgumentException("'" + name + "' is no transport: one of " + String.join(", ", TRANSPORTS)
                    + " is wanted");
        }
        return name;
    }

    private static List<Rule> rules(Properties properties) {
        String file = properties.getProperty(RULES_PROPERTY);
        try {
            return file == null ? List.of() : read(Path.of(file));
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("-D" + RULES_PROPERTY + ": " + e.getMessage(), e);
        }
    }

    /** Reads a file of rules, one a line; {@code #} begins a comment, whose bytes need not be UTF-8. */
    static List<Rule> read(Path file) {
        List<Rule> rules = new ArrayList<>();
        try {
            int number = 0;
            String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
            for (String line : (Iterable<String>) text.lines()::iterator) {
                number++;
                String rule = line.replaceFirst("^\uFEFF", "").replaceFirst("#.*", "");
                if (!rule.isBlank()) {
                    rules.add(Rule.parse(rule, file + ":" + number));
                }
            }
        } catch (IOException e) {
            throw new IllegalArgumentException("-D" + RULES_PROPERTY + "=" + file + ": the file cannot be read: " + e,
                    e);
        }
        return List.copyOf(rules);
    }

    /** Decides for a socket with a wish of {@link #TRANSPORTS}, or null, and an address, its peer's or its own. */
    public Decision decide(String wish, InetSocketAddress address) throws SocketException {
        if (wish != null) {
            return new Decision(wish, "the socket's option TRANSPORT says so");
        }
        if (mistake != null) {
            throw new SocketException(mistake);
        }
        for (Rule rule : rules) {
            if (rule.matches(address)) {
                return new Decision(rule.transport(), "the rule in " + rule.origin() + " says so");
            }
        }
        return new Decision(transport, transport.equals(AUTO) ? "" : "-D" + TRANSPORT_PROPERTY + " says so");
    }
}
