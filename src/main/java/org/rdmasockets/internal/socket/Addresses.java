package org.rdmasockets.internal.socket;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** Turns addresses into those that {@code java.net} uses. */
public final class Addresses {
    private Addresses() {}

    /** A local address as the system would report it: without the host name that the application gave. */
    static InetAddress unnamed(InetAddress address) {
        byte[] bytes = address.getAddress();
        try {
            if (address instanceof Inet6Address scoped && scoped.getScopeId() != 0) {
                return Inet6Address.getByAddress(null, bytes, scoped.getScopeId());
            }
            return InetAddress.getByAddress(bytes);
        } catch (IOException e) {
            throw new IllegalArgumentException("an address has the length of one", e);
        }
    }

    /**
     * The address to connect to. The wildcard stands for this host: by the address that the socket is bound to, if any,
     * for a device that has it may lead nowhere else. A name that is not resolved stays, for a proxy.
     */
    static InetSocketAddress destination(InetSocketAddress target, InetAddress own) throws UnknownHostException {
        if (target.isUnresolved() || !target.getAddress().isAnyLocalAddress()) {
            return target;
        }
        boolean known = own != null && !own.isAnyLocalAddress();
        return new InetSocketAddress(known ? own : InetAddress.getLocalHost(), target.getPort());
    }
}
