package org.rdmasockets.internal.sharedmemory.link;

import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * Names of listeners in {@code SocketDirectory}: {@code <address or *>-<port>}. Neither users nor network namespaces
 * meet there, just as with addresses.
 */
final class ListenerName {
    private static final String WILDCARD = "*";

    private ListenerName() {}

    /** The name of an address; all wildcards are one. */
    static String of(InetSocketAddress address) {
        InetAddress host = address.getAddress();
        return name(host.isAnyLocalAddress() ? WILDCARD : withoutScope(host.getHostAddress()), address.getPort());
    }

    /** The name of the wildcard with the same port. */
    static String wildcard(InetSocketAddress address) {
        return name(WILDCARD, address.getPort());
    }

    /** The name that a name of an address becomes for datagrams, as a port of UDP is none of TCP. */
    static String forDatagrams(String name) {
        return name + "-udp";
    }

    private static String name(String host, int port) {
        return host + "-" + port;
    }

    private static String withoutScope(String host) {
        int scope = host.indexOf('%');
        return scope < 0 ? host : host.substring(0, scope);
    }
}
