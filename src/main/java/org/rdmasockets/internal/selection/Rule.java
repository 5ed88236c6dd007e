package org.rdmasockets.internal.selection;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One line of a rules file, known by file and line: a transport for the addresses and ports that match. */
record Rule(String transport, Predicate<InetAddress> hosts, int firstPort, int lastPort, String origin) {
    private static final int MAX_PORT = 65_535;
    private static final String ANY = "*";
    private static final Pattern PORTS = Pattern.compile("(\\d{1,5})(?:-(\\d{1,5}))?");

    /** Reads a line such as {@code tcp 10.0.0.0/8 5432}; an {@code IllegalArgumentException} has origin and mistake. */
    static Rule parse(String line, String origin) {
        String[] words = line.strip().split("\\s+");
        try {
            if (words.length != 3) {
                throw new IllegalArgumentException("'" + line.strip() + "' is no rule: TRANSPORT HOST PORT is wanted, "
                        + "such as 'tcp 10.0.0.0/8 5432' or 'ibverbs * 7000-7999'");
            }
            String transport = Policy.checkedTransport(words[0]);
            Predicate<InetAddress> hosts = hosts(words[1]);
            if (words[2].equals(ANY)) {
                return new Rule(transport, hosts, 0, MAX_PORT, origin);
            }
            Matcher ports = PORTS.matcher(words[2]);
            int first = ports.matches() ? Integer.parseInt(ports.group(1)) : 0;
            int last = first > 0 && ports.group(2) != null ? Integer.parseInt(ports.group(2)) : first;
            if (first < 1 || last < first || last > MAX_PORT) {
                throw new IllegalArgumentException("'" + words[2] + "' is no port: a number from 1 to " + MAX_PORT
                        + ", a range such as 7000-7999, or * is wanted");
            }
            return new Rule(transport, hosts, first, last, origin);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(origin + ": " + e.getMessage(), e);
        }
    }

    private static Predicate<InetAddress> hosts(String word) {
        if (word.equals(ANY)) {
            return address -> true;
        }
        int slash = word.indexOf('/');
        List<InetAddress> named = addresses(slash < 0 ? word : word.substring(0, slash));
        if (slash < 0) {
            return named::contains;
        }
        byte[] prefix = named.getFirst().getAddress();
        int bits = bits(word.substring(slash + 1), Byte.SIZE * prefix.length, word);
        return address -> !address.isAnyLocalAddress() && startsWith(address.getAddress(), prefix, bits);
    }

    private static List<InetAddress> addresses(String host) {
        try {
            if (host.isEmpty()) {
                throw new UnknownHostException("none is named"); // Java would take it for this host
            }
            return List.of(InetAddress.getAllByName(host));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("'" + host + "' is no host: an address, a prefix such as 10.0.0.0/8, a "
                    + "name that can be looked up, or * is wanted", e);
        }
    }

    private static int bits(String text, int most, String word) {
        if (text.matches("\\d{1,3}") && Integer.parseInt(text) <= most) {
            return Integer.parseInt(text);
        }
        throw new IllegalArgumentException("'" + word + "' is no prefix: 0 to " + most + " bits are possible");
    }

    private static boolean startsWith(byte[] address, byte[] prefix, int bits) {
        if (address.length != prefix.length) {
            return false;
        }
        int whole = bits / Byte.SIZE;
        for (int i = 0; i < whole; i++) {
            if (address[i] != prefix[i]) {
                return false;
            }
        }
        int rest = bits % Byte.SIZE;
        return rest == 0 || (address[whole] ^ prefix[whole]) >> Byte.SIZE - rest == 0;
    }

    /** Whether this rule is for an address, a peer's or one to listen on; wildcard and port 0 match only {@code *}. */
    boolean matches(InetSocketAddress address) {
        return address.getPort() >= firstPort && address.getPort() <= lastPort && hosts.test(address.getAddress());
    }
}
