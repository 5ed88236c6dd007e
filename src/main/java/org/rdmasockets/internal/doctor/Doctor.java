package org.rdmasockets.internal.doctor;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.ref.Reference;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collector;
import java.util.stream.Collectors;

/**
 * The commands of an operator. {@code doctor} tells which transports this machine and this user can have, and what each
 * one that cannot be had needs; with an address also which of them lead there, and which one a socket takes by itself.
 * {@code ping} measures the round trip over each, {@code devices} lists the RDMA devices, and {@code connections} asks
 * processes of this user for theirs.
 *
 * <p>Nothing is left behind but the directory for the names of servers, which a server would make.
 */
public final class Doctor {
    private static final String USAGE = """
            usage: doctor [--json] [HOST:PORT]          what this machine and this user can have, and what leads there
                   devices [--json]                     the RDMA devices, their ports and GIDs
                   connections [--json] [PID...]        those of the processes of this user
                   ping [--json] HOST PORT              the round trip to a server that echoes, over each transport
                   ping --echo PORT                     such a server, until it is interrupted""";
    private static final int MAX_PORT = 65_535;
    private static final int WRONG_ARGUMENTS = 2;
    private static final int NANOS_PER_TENTH = 100;

    private final boolean json;
    private final PrintStream out;

    private Doctor(boolean json, PrintStream out) {
        this.json = json;
        this.out = out;
    }

    /**
     * Runs a command, and writes its result for people or as one JSON object.
     *
     * @param arguments the command and its arguments
     * @param out where to write
     * @param jar the agent's jar, which asks other processes; null if no process is asked
     * @return 0; 1 if nothing leads to the address, or no process answers; 2 if the arguments are wrong
     */
    public static int run(List<String> arguments, PrintStream out, Path jar) {
        List<String> rest = new ArrayList<>(arguments);
        Doctor doctor = new Doctor(rest.remove("--json"), out);
        Object quiet = ModuleLayer.boot().findModule("java.logging").isPresent() ? quietLog() : null;
        try {
            String command = rest.isEmpty() ? "" : rest.removeFirst();
            return switch (command) {
                case "doctor" -> doctor.examine(rest);
                case "devices" -> doctor.devices(rest);
                case "connections" -> doctor.connections(rest, jar);
                case "ping" -> doctor.ping(rest);
                default -> doctor.usage();
            };
        } finally {
            out.flush();
            Reference.reachabilityFence(quiet);
        }
    }

    /** The findings say what the library's log would; as long as the result is held. */
    private static Object quietLog() {
        Logger all = Logger.getLogger("org.rdmasockets");
        all.setLevel(Level.OFF);
        return all;
    }

    private int usage() {
        out.println(USAGE);
        return WRONG_ARGUMENTS;
    }

    private int examine(List<String> arguments) {
        InetSocketAddress address = arguments.size() == 1 ? address(arguments.getFirst()) : null;
        if (arguments.size() > 1 || arguments.size() == 1 && address == null) {
            return usage();
        }
        List<Finding> findings = new Machine(Path.of("/")).findings();
        List<Route> routes = address == null ? List.of() : Route.to(address, false);
        say(findingsAsText(findings) + (address == null ? "" : routesAsText(address, routes)),
                "{" + findingsAsJson(findings) + (address == null ? "" : "," + routesAsJson(address, routes)) + "}");
        return address == null || routes.stream().anyMatch(route -> route.failure() == null) ? 0 : 1;
    }

    private int devices(List<String> arguments) {
        if (!arguments.isEmpty()) {
            return usage();
        }
        List<Finding> findings = new ArrayList<>();
        boolean usable = Machine.devices(findings, true);
        say(findingsAsText(findings), "{" + findingsAsJson(findings) + "}");
        return usable ? 0 : 1;
    }

    private int ping(List<String> arguments) {
        boolean echo = arguments.size() == 2 && arguments.getFirst().equals("--echo");
        int port = arguments.size() == 2 ? port(arguments.get(1)) : -1;
        if (echo && port >= 0) {
            try {
                new EchoServer(port, out).serve();
            } catch (IOException e) {
                out.println(harmless("no port to echo on: " + e.getMessage()));
            }
            return 1;
        }
        if (echo || port < 1) {
            return usage();
        }
        InetSocketAddress address = new InetSocketAddress(arguments.getFirst(), port);
        List<Route> routes = Route.to(address, true);
        say(routesAsText(address, routes), "{" + routesAsJson(address, routes) + "}");
        return routes.stream().anyMatch(route -> route.roundTrip() != null) ? 0 : 1;
    }

    private int connections(List<String> arguments, Path jar) {
        List<Long> wanted = new ArrayList<>();
        for (String argument : arguments) {
            if (!argument.matches("[1-9]\\d{0,8}")) {
                return usage();
            }
            wanted.add(Long.valueOf(argument));
        }
        LibraryProcesses processes = new LibraryProcesses(Path.of("/proc"), jar);
        List<LibraryProcesses.Answer> answers = processes.ask(wanted.isEmpty() ? processes.found() : wanted);
        String text = answers.stream().map(Doctor::asText).collect(Collectors.joining());
        say(answers.isEmpty() ? "no process of this user has used a socket or endpoint of this library\n" : text,
                "{\"processes\":" + answers.stream().map(Doctor::asJson).collect(list()) + "}");
        return answers.stream().allMatch(answer -> answer.failure() == null) ? 0 : 1;
    }

    /** An address that is written {@code HOST:PORT} or {@code [IPV6]:PORT}; null if it is not. */
    private static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        String host = colon < 1 ? "" : text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        int port = port(text.substring(colon + 1));
        return host.isEmpty() || port < 1 ? null : new InetSocketAddress(host, port);
    }

    /** A port, 0 or more; -1 for a text that is none. */
    private static int port(String text) {
        int port = text.matches("\\d{1,5}") ? Integer.parseInt(text) : -1;
        return port > MAX_PORT ? -1 : port;
    }

    private void say(String text, String object) {
        out.print(json ? object + "\n" : harmless(text));
    }

    private static String system() {
        return "Java " + Runtime.version() + ", " + System.getProperty("os.name") + " "
                + System.getProperty("os.version") + ", " + System.getProperty("os.arch") + ", user "
                + System.getProperty("user.name");
    }

    private static String findingsAsText(List<Finding> findings) {
        StringBuilder text = new StringBuilder(system()).append('\n');
        for (Finding finding : findings) {
            text.append("%-8s %s: %s%n".formatted(level(finding), finding.subject(), finding.text()));
        }
        return text.toString();
    }

    private static String level(Finding finding) {
        return finding.level().name().toLowerCase(Locale.ROOT);
    }

    private static String findingsAsJson(List<Finding> findings) {
        return "\"system\":" + quoted(system()) + ",\"findings\":" + findings.stream().map(f -> "{\"level\":"
                + quoted(level(f)) + ",\"subject\":" + quoted(f.subject()) + ",\"text\":" + quoted(f.text()) + "}")
                .collect(list());
    }

    private static String routesAsText(InetSocketAddress address, List<Route> routes) {
        StringBuilder text = new StringBuilder("\nto ").append(address).append('\n');
        for (Route route : routes) {
            String name = route.transport().name();
            text.append("%-13s ".formatted(name));
            if (route.failure() != null) {
                text.append("does not lead there: ").append(route.failure());
            } else {
                text.append(route.taken().name().equals(name) ? "leads there" : "takes " + route.taken())
                        .append(", connects in ").append(route.connectMicros()).append(" us");
            }
            RoundTrip trip = route.roundTrip();
            text.append(trip == null ? "" : ", " + RoundTrip.MESSAGE_BYTES + " bytes go there and back in "
                    + micros(trip.leastNanos()) + " us at best, " + micros(trip.medianNanos()) + " us in the median, "
                    + micros(trip.mostOfHundredNanos()) + " us for 99 of 100");
            text.append(route.noEcho() == null ? "" : ", but no echo came: " + route.noEcho()).append('\n');
        }
        return text.toString();
    }

    private static String micros(long nanos) {
        long tenths = (nanos + NANOS_PER_TENTH / 2) / NANOS_PER_TENTH;
        return tenths / 10 + "." + tenths % 10;
    }

    private static String routesAsJson(InetSocketAddress address, List<Route> routes) {
        return "\"address\":" + quoted(address.toString()) + ",\"routes\":"
                + routes.stream().map(Doctor::asJson).collect(list());
    }

    private static String asJson(Route route) {
        RoundTrip trip = route.roundTrip();
        return "{\"transport\":" + quoted(route.transport().name()) + (route.failure() != null
                ? ",\"failure\":" + quoted(route.failure())
                : ",\"taken\":" + quoted(route.taken().name()) + ",\"reason\":" + quoted(route.taken().reason())
                        + ",\"connectMicros\":" + route.connectMicros())
                + (trip == null ? "" : ",\"leastMicros\":" + micros(trip.leastNanos()) + ",\"medianMicros\":"
                        + micros(trip.medianNanos()) + ",\"mostOfHundredMicros\":" + micros(trip.mostOfHundredNanos()))
                + (route.noEcho() == null ? "" : ",\"noEcho\":" + quoted(route.noEcho())) + "}";
    }

    private static String asText(LibraryProcesses.Answer answer) {
        StringBuilder text = new StringBuilder("process " + answer.number());
        if (answer.failure() != null) {
            return text.append(" does not tell: ").append(answer.failure()).append('\n').toString();
        }
        text.append(", ").append(answer.program()).append(", ").append(answer.connections().size())
                .append(answer.connections().size() == 1 ? " connection\n" : " connections\n");
        for (Map<String, String> connection : answer.connections()) {
            Map<String, String> left = new LinkedHashMap<>(connection);
            text.append("  %-13s %-8s %s -> %s%n     ".formatted(left.remove("transport"), left.remove("state"),
                    left.remove("local"), left.remove("remote")));
            String reason = left.remove("reason");
            left.forEach((name, value) -> text.append(' ').append(name).append(':').append(value));
            text.append(reason == null ? "" : ", " + reason).append('\n');
        }
        return text.toString();
    }

    private static String asJson(LibraryProcesses.Answer answer) {
        return "{\"process\":" + answer.number() + (answer.failure() != null
                ? ",\"failure\":" + quoted(answer.failure())
                : ",\"program\":" + quoted(answer.program()) + ",\"connections\":"
                        + answer.connections().stream().map(Doctor::asJson).collect(list())) + "}";
    }

    private static String asJson(Map<String, String> connection) {
        return connection.entrySet().stream().map(e -> quoted(e.getKey()) + ":"
                + (e.getValue().matches("0|[1-9]\\d{0,18}") ? e.getValue() : quoted(e.getValue())))
                .collect(Collectors.joining(",", "{", "}"));
    }

    private static Collector<CharSequence, ?, String> list() {
        return Collectors.joining(",", "[", "]");
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
