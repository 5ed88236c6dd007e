package org.rdmasockets;

import java.lang.StackWalker.StackFrame;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.net.DatagramSocket;
import java.net.DatagramSocketImpl;
import java.net.DatagramSocketImplFactory;
import java.net.SocketAddress;
import java.net.SocketException;
import java.nio.channels.DatagramChannel;
import org.rdmasockets.internal.socket.PlatformSockets;
import org.rdmasockets.internal.socket.RdmaDatagramSocketImpl;

/**
 * The factory for {@code DatagramSocket.setDatagramSocketImplFactory}; {@link RdmaSockets#install()} sets it if
 * {@code -Dorg.rdmasockets.datagrams=true}. Any thread may use it.
 *
 * <p>The sockets under those of this library, or of another copy of it, are UDP's.
 *
 * @since 0.1
 */
public final class RdmaDatagramSocketImplFactory implements DatagramSocketImplFactory {
    private static final StackWalker STACK = StackWalker.getInstance();
    /** The class whose sockets need UDP, by any class loader. */
    private static final String OURS = RdmaDatagramSocket.class.getName();

    /** Set before the factory can be; null as long as a plain socket is UDP's without it. */
    private static volatile MethodHandle udp;

    private RdmaDatagramSocketImplFactory(MethodHandle open) {
        udp = open;
    }

    /**
     * Makes the factory.
     *
     * @return for {@code DatagramSocket.setDatagramSocketImplFactory}
     * @throws SocketException if package {@code sun.nio.ch} is not open to this library; the message says what to do
     */
    public static RdmaDatagramSocketImplFactory make() throws SocketException {
        try {
            Class<?> provider = Class.forName("sun.nio.ch.DefaultSelectorProvider");
            Lookup inside = MethodHandles.privateLookupIn(provider, MethodHandles.lookup());
            Class<?> kind = inside.findClass("sun.nio.ch.SelectorProviderImpl");
            MethodHandle get = inside.findStatic(provider, "get", MethodType.methodType(kind));
            MethodHandle open = inside.findVirtual(kind, "openUninterruptibleDatagramChannel",
                    MethodType.methodType(DatagramChannel.class));
            return new RdmaDatagramSocketImplFactory(MethodHandles.foldArguments(open, get));
        } catch (IllegalAccessException e) {
            throw PlatformSockets.refused("The datagram sockets of this JVM cannot be replaced, because UDP would be "
                    + "lost: start Java with -javaagent:rdma-sockets-agent.jar, or with --add-opens "
                    + "java.base/sun.nio.ch=" + PlatformSockets.us(), e);
        } catch (ReflectiveOperationException e) {
            throw PlatformSockets.refused("The datagram sockets of this JVM cannot be replaced: Java "
                    + Runtime.version() + " is not known to this version of rdma-sockets", e);
        }
    }

    /** A socket of UDP, unbound, that does what those of {@code java.net} do where no factory is set. */
    static DatagramSocket openUdp() throws SocketException {
        MethodHandle open = udp;
        if (open == null) {
            return new DatagramSocket((SocketAddress) null);
        }
        try {
            return ((DatagramChannel) open.invoke()).socket();
        } catch (SocketException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable t) {
            throw (SocketException) new SocketException("a UDP socket cannot be had: " + t.getMessage()).initCause(t);
        }
    }

    @Override
    public DatagramSocketImpl createDatagramSocketImpl() {
        boolean ours = isForOurs();
        return new RdmaDatagramSocketImpl(() -> ours ? openUdp() : new RdmaDatagramSocket((SocketAddress) null));
    }

    private static boolean isForOurs() {
        return STACK.walk(frames -> frames.map(StackFrame::getClassName).anyMatch(OURS::equals));
    }
}
