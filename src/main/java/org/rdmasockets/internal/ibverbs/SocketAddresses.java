package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.internal.ibverbs.generated.sockaddr;
import org.rdmasockets.internal.ibverbs.generated.sockaddr_in;
import org.rdmasockets.internal.ibverbs.generated.sockaddr_in6;
import org.rdmasockets.internal.ibverbs.generated.sockaddr_storage;
import org.rdmasockets.verbs.VerbsException;

/** {@code sockaddr_in} and {@code sockaddr_in6}. */
final class SocketAddresses {
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;
    private static final int SOCK_DGRAM = 2;
    private static final int SOCK_CLOEXEC = 0x80000;

    private SocketAddresses() {}

    /**
     * Writes an address. One that is IPv4 mapped into IPv6 is an {@link Inet4Address} in Java already, so it becomes a
     * {@code sockaddr_in}, which is what the kernel can route.
     */
    static MemorySegment write(InetSocketAddress address, Arena arena) {
        InetAddress host = address.getAddress();
        if (host == null) {
            throw new IllegalArgumentException("unresolved address " + address);
        }
        byte[] bytes = host.getAddress();
        if (host instanceof Inet6Address host6) {
            MemorySegment socket = sockaddr_in6.allocate(arena);
            sockaddr_in6.sin6_family(socket, (short) rdma_h.AF_INET6());
            sockaddr_in6.sin6_port(socket, Short.reverseBytes((short) address.getPort()));
            MemorySegment.copy(bytes, 0, sockaddr_in6.sin6_addr(socket), ValueLayout.JAVA_BYTE, 0, bytes.length);
            sockaddr_in6.sin6_scope_id(socket, host6.getScopeId());
            return socket;
        }
        MemorySegment socket = sockaddr_in.allocate(arena);
        sockaddr_in.sin_family(socket, (short) rdma_h.AF_INET());
        sockaddr_in.sin_port(socket, Short.reverseBytes((short) address.getPort()));
        MemorySegment.copy(bytes, 0, sockaddr_in.sin_addr(socket), ValueLayout.JAVA_BYTE, 0, bytes.length);
        return socket;
    }

    /**
     * The address that this host would connect from: a connected UDP socket has it and sends nothing. Throws if there
     * is no route or no descriptor.
     */
    static InetAddress sourceOf(InetSocketAddress destination) throws VerbsException {
        int family = destination.getAddress() instanceof Inet6Address ? rdma_h.AF_INET6() : rdma_h.AF_INET();
        int port = destination.getPort() == 0 ? 1 : destination.getPort();
        int socket = ControlCall.SOCKET.number("", family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment peer = write(new InetSocketAddress(destination.getAddress(), port), arena);
            ControlCall.CONNECT.number("", socket, peer, peer.byteSize());
            MemorySegment own = sockaddr_storage.allocate(arena);
            MemorySegment length = arena.allocateFrom(ValueLayout.JAVA_INT, (int) own.byteSize());
            ControlCall.GETSOCKNAME.number("", socket, own, length);
            return read(own).getAddress();
        } finally {
            ControlCall.CLOSE.error(socket);
        }
    }

    /** Reads an address, null if there is none, from memory that is large enough for any {@code sockaddr}. */
    static InetSocketAddress read(MemorySegment socket) {
        int family = Short.toUnsignedInt(sockaddr.sa_family(socket));
        try {
            if (family == rdma_h.AF_INET()) {
                byte[] bytes = sockaddr_in.sin_addr(socket).asSlice(0, IPV4_BYTES).toArray(ValueLayout.JAVA_BYTE);
                return new InetSocketAddress(InetAddress.getByAddress(bytes), port(sockaddr_in.sin_port(socket)));
            }
            if (family == rdma_h.AF_INET6()) {
                byte[] bytes = sockaddr_in6.sin6_addr(socket).asSlice(0, IPV6_BYTES).toArray(ValueLayout.JAVA_BYTE);
                int scope = sockaddr_in6.sin6_scope_id(socket);
                InetAddress host = scope == 0 ? InetAddress.getByAddress(bytes)
                        : Inet6Address.getByAddress(null, bytes, scope);
                return new InetSocketAddress(host, port(sockaddr_in6.sin6_port(socket)));
            }
            return null;
        } catch (UnknownHostException e) {
            throw new AssertionError("4 and 16 bytes are an address", e);
        }
    }

    /** A port as it stands in memory, 0 to 65535. */
    private static int port(short inNetworkOrder) {
        return Short.toUnsignedInt(Short.reverseBytes(inNetworkOrder));
    }

    /**
     * The address of this end, or null, with its scope, which the kernel does not tell of a connection request: a
     * link-local address means something on one link only, that of the interface that has it.
     */
    static InetSocketAddress scopedLocal(InetSocketAddress local) {
        if (local == null || !needsScope(local.getAddress())) {
            return local;
        }
        try {
            NetworkInterface owner = NetworkInterface.getByInetAddress(local.getAddress());
            return owner == null ? local : scoped(local, owner.getIndex());
        } catch (SocketException e) {
            return local; // the interfaces cannot be listed, and an address without scope is better than none
        }
    }

    /** The peer's address, or null, with the scope of this end, which the kernel does not tell in a request. */
    static InetSocketAddress scopedRemote(InetSocketAddress remote, InetSocketAddress local) {
        return remote != null && needsScope(remote.getAddress()) && local != null
                && local.getAddress() instanceof Inet6Address here ? scoped(remote, here.getScopeId()) : remote;
    }

    private static boolean needsScope(InetAddress host) {
        return host instanceof Inet6Address host6 && host6.isLinkLocalAddress() && host6.getScopeId() == 0;
    }

    private static InetSocketAddress scoped(InetSocketAddress address, int scope) {
        try {
            InetAddress host = Inet6Address.getByAddress(null, address.getAddress().getAddress(), scope);
            return new InetSocketAddress(host, address.getPort());
        } catch (UnknownHostException e) {
            throw new AssertionError("16 bytes are an address", e);
        }
    }
}
