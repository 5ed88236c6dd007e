package org.rdmasockets.internal.selection;

import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;

/** Asks, as {@code java.net.Socket} does before it connects, whether a SOCKS proxy leads there. Any thread may ask. */
final class Proxies {
    /** Read once, as in the JDK. */
    private static final boolean SYSTEM = Boolean.getBoolean("java.net.useSystemProxies");

    private Proxies() {}

    /** Whether java.net would try a proxy first; true if the selector fails, which it tells in its own way. */
    static boolean leadTo(InetSocketAddress remote) {
        ProxySelector selector = ProxySelector.getDefault();
        if (selector == null || selector.getClass().getModule() == Object.class.getModule() && !SYSTEM
                && System.getProperty("socksProxyHost") == null) {
            return false; // as the JDK's own selector would answer
        }
        return Asked.leadsTo(selector, remote);
    }

    /** A selector that has its own mind; only then are these classes of the JDK needed. */
    private static final class Asked {
        private Asked() {}

        static boolean leadsTo(ProxySelector selector, InetSocketAddress remote) {
            try {
                List<Proxy> proxies = selector.select(
                        new URI("socket", null, remote.getHostString(), remote.getPort(), null, null, null));
                return proxies != null && !proxies.isEmpty() && proxies.getFirst() != null
                        && proxies.getFirst().type() == Proxy.Type.SOCKS;
            } catch (URISyntaxException | RuntimeException e) {
                return true;
            }
        }
    }
}
