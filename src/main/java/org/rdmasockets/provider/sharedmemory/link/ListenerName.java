package org.rdmasockets.provider.sharedmemory.link;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.provider.os.PacketSocket;

/**
 * Names of listeners in the abstract name space: {@code org.rdmasockets/1/<user>/<address or *>/<port>}. Users do not
 * meet there, and neither do network namespaces, just as with addresses.
 */
final class ListenerName {
    private static final String PREFIX = "org.rdmasockets/1/";
    private static final String WILDCARD = "*";

    private ListenerName() {
    }

    /** The name of an address; all wildcards are one. */
    static String of(InetSocketAddress address) {
        InetAddress host = address.getAddress();
        return name(host.isAnyLocalAddress() ? WILDCARD : withoutScope(host.getHostAddress()), address.getPort());
    }

    /** The name of the wildcard with the same port. */
    static String wildcard(InetSocketAddress address) {
        return name(WILDCARD, address.getPort());
    }

    private static String name(String host, int port) {
        return PREFIX + PacketSocket.ownUser() + "/" + host + "/" + port;
    }

    private static String withoutScope(String host) {
        int scope = host.indexOf('%');
        return scope < 0 ? host : host.substring(0, scope);
    }
}
