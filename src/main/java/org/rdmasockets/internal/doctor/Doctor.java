package org.rdmasockets.internal.doctor;

import java.io.PrintStream;
import java.lang.ref.Reference;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;

/**
 * Tells which transports this machine and this user can have, and what each one that cannot be had needs; with an
 * address also which of them lead there, and which one a socket takes by itself. It sends nothing, and leaves nothing
 * behind but the directory for the names of servers, which a server would make.
 */
public final class Doctor {
    private static final String USAGE = "doctor [--json] [HOST:PORT]";
    private static final int MAX_PORT = 65_535;
    private static final int WRONG_ARGUMENTS = 2;

    private final List<Finding> findings;
    /** Null without an address. */
    private final InetSocketAddress address;
    private final List<Route> routes;

    private Doctor(List<Finding> findings, InetSocketAddress address) {
        this.findings = findings;
        this.address = address;
        this.routes = address == null ? List.of() : Route.to(address);
    }

    /**
     * Writes what was found, for people or as one JSON object.
     *
     * @param arguments {@code [--json] [HOST:PORT]}
     * @param out where to write
     * @return 0; 1 if an address was given and nothing leads there; 2 if the arguments are wrong
     */
    public static int run(List<String> arguments, PrintStream out) {
        List<String> rest = new ArrayList<>(arguments);
        boolean json = rest.remove("--json");
        InetSocketAddress address = rest.size() == 1 ? address(rest.getFirst()) : null;
        if (rest.size() > 1 || rest.size() == 1 && address == null) {
            out.println("usage: " + USAGE);
            return WRONG_ARGUMENTS;
        }
        Object quiet = ModuleLayer.boot().findModule("java.logging").isPresent() ? quietLog() : null;
        Doctor doctor = new Doctor(new Machine(Path.of("/proc")).findings(), address);
        out.print(json ? doctor.json() : harmless(doctor.text()));
        out.flush();
        Reference.reachabilityFence(quiet);
        return doctor.leadsThere() ? 0 : 1;
    }

    /** The findings say what the library's log would; as long as the result is held. */
    private static Object quietLog() {
        Logger all = Logger.getLogger("org.rdmasockets");
        all.setLevel(Level.OFF);
        return all;
    }

    /** An address that is written {@code HOST:PORT} or {@code [IPV6]:PORT}; null if it is not. */
    private static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        String host = colon < 1 ? "" : text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        try {
            int port = Integer.parseInt(text.substring(colon + 1));
            return host.isEmpty() || port < 1 || port > MAX_PORT ? null : new InetSocketAddress(host, port);
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private boolean leadsThere() {
        return address == null || routes.stream().anyMatch(route -> route.failure() == null);
    }

    private static String system() {
        return "Java " + Runtime.version() + ", " + System.getProperty("os.name") + " "
                + System.getProperty("os.version") + ", " + System.getProperty("os.arch") + ", user "
                + System.getProperty("user.name");
    }

    private String text() {
        StringBuilder text = new StringBuilder(system()).append('\n');
        for (Finding finding : findings) {
            text.append("%-8s %s: %s%n".formatted(finding.level().name().toLowerCase(Locale.ROOT), finding.subject(),
                    finding.text()));
        }
        if (address != null) {
            text.append("\nto ").append(address).append('\n');
        }
        for (Route route : routes) {
            String name = route.transport().name();
            text.append("%-13s ".formatted(name));
            if (route.failure() != null) {
                text.append("does not lead there: ").append(route.failure());
            } else {
                text.append(route.taken().name().equals(name) ? "leads there" : "takes " + route.taken())
                        .append(", connects in ").append(route.connectMicros()).append(" us");
            }
            text.append('\n');
        }
        return text.toString();
    }

    private String json() {
        String found = findings.stream().map(f -> "{\"level\":" + quoted(f.level().name().toLowerCase(Locale.ROOT))
                + ",\"subject\":" + quoted(f.subject()) + ",\"text\":" + quoted(f.text()) + "}")
                .collect(Collectors.joining(",", "[", "]"));
        String led = routes.stream().map(r -> "{\"transport\":" + quoted(r.transport().name()) + (r.failure() != null
                ? ",\"failure\":" + quoted(r.failure())
                : ",\"taken\":" + quoted(r.taken().name()) + ",\"reason\":" + quoted(r.taken().reason())
                        + ",\"connectMicros\":" + r.connectMicros()) + "}")
                .collect(Collectors.joining(",", "[", "]"));
        return "{\"system\":" + quoted(system()) + ",\"findings\":" + found
                + (address == null ? "" : ",\"address\":" + quoted(address.toString()) + ",\"routes\":" + led) + "}\n";
    }

    /** Valid in every encoding of the output, and harmless to a terminal. */
    private static String escaped(char c) {
        return "\\u%04x".formatted((int) c);
    }

    /** The text without characters that a terminal would obey; names of hosts and users may have them. */
    private static String harmless(String text) {
        StringBuilder harmless = new StringBuilder();
        for (char c : text.toCharArray()) {
            harmless.append(Character.isISOControl(c) && c != '\n' && c != '\r' ? escaped(c) : "" + c);
        }
        return harmless.toString();
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else {
                quoted.append(c < ' ' || c > '~' ? escaped(c) : "" + c);
            }
        }
        return quoted.append('"').toString();
    }
}
