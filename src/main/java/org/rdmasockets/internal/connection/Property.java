package org.rdmasockets.internal.connection;

import java.util.Arrays;
import java.util.Locale;
import org.rdmasockets.internal.log.Log;

/** Reads system properties whose names begin with {@code org.rdmasockets.} */
public final class Property {
    /** The prefix of all names. */
    public static final String PREFIX = "org.rdmasockets.";

    private static final Log LOG = new Log(Property.class);

    private Property() {}

    /** Reads a switch, off by default; what is neither {@code true} nor {@code false} is ignored with a warning. */
    public static boolean flag(String name) {
        String text = System.getProperty(PREFIX + name, "false").strip();
        if (!text.equals("true") && !text.equals("false")) {
            LOG.warn("-D{}={} is ignored: true or false is wanted; false is used",
                    PREFIX + name, text);
        }
        return text.equals("true");
    }

    /** Reads one of some names, in any case, with hyphens or underscores; others are ignored with a warning. */
    public static <E extends Enum<E>> E choice(String name, E otherwise) {
        String property = PREFIX + name;
        String text = System.getProperty(property);
        if (text == null) {
            return otherwise;
        }
        String wanted = text.strip().toUpperCase(Locale.ROOT).replace('-', '_');
        for (E each : otherwise.getDeclaringClass().getEnumConstants()) {
            if (each.name().equals(wanted)) {
                return each;
            }
        }
        LOG.warn("-D{}={} is ignored: one of {} is wanted; {} is used", property,
                text, Arrays.toString(otherwise.getDeclaringClass().getEnumConstants()), otherwise);
        return otherwise;
    }

    /** Reads a number; a value that is none, or out of range, is ignored with a warning. */
    public static int number(String name, int otherwise, int least, int most) {
        String property = PREFIX + name;
        String text = System.getProperty(property);
        if (text == null) {
            return otherwise;
        }
        try {
            int value = Integer.parseInt(text.strip());
            if (value >= least && value <= most) {
                return value;
            }
        } catch (IllegalArgumentException e) {
            // reported below, together with numbers out of range
        }
        LOG.warn(
                "-D{}={} is ignored: a whole number from {} to {} is wanted; {} is used", property, text, least, most,
                otherwise);
        return otherwise;
    }
}
