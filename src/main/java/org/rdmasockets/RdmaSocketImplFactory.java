package org.rdmasockets;

import java.lang.StackWalker.StackFrame;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketImplFactory;
import java.util.Iterator;
import java.util.Set;
import org.rdmasockets.internal.socket.PlatformSockets;
import org.rdmasockets.internal.socket.RdmaSocketImpl;

/**
 * The factories for {@code Socket.setSocketImplFactory} and {@code ServerSocket.setSocketFactory};
 * {@link RdmaSockets#install()} sets both. Any thread may use them.
 *
 * <p>Sockets that this library needs itself are TCP's: those under its own connections, and those that a logger opens
 * while the library logs, which otherwise would log again.
 *
 * @since 0.1
 */
public final class RdmaSocketImplFactory implements SocketImplFactory {
    /** The layers below this package: a socket made from there must be TCP's. */
    private static final Set<String> LAYERS = Set.of("selection", "connection", "waiting", "provider", "ibverbs",
            "sharedmemory", "ffi");
    private static final String OURS = RdmaSocketImplFactory.class.getPackageName() + ".internal.";
    private static final StackWalker STACK = StackWalker.getInstance();

    private final boolean server;
    private final PlatformSockets platform;

    private RdmaSocketImplFactory(boolean server) throws SocketException {
        this.server = server;
        this.platform = PlatformSockets.find();
    }

    /**
     * Makes the factory for sockets that connect or are accepted.
     *
     * @return for {@code Socket.setSocketImplFactory}
     * @throws SocketException if package {@code java.net} is not open to this library; the message says what to do
     */
    public static RdmaSocketImplFactory ofSockets() throws SocketException {
        return new RdmaSocketImplFactory(false);
    }

    /**
     * Makes the factory for sockets that listen.
     *
     * @return for {@code ServerSocket.setSocketFactory}
     * @throws SocketException if package {@code java.net} is not open to this library; the message says what to do
     */
    public static RdmaSocketImplFactory ofServerSockets() throws SocketException {
        return new RdmaSocketImplFactory(true);
    }

    @Override
    public SocketImpl createSocketImpl() {
        return STACK.walk(frames -> create(frames.iterator()));
    }

    /**
     * The call may come from a layer below, directly or through other code. Takes microseconds, about ten on a deep
     * stack.
     */
    private SocketImpl create(Iterator<StackFrame> frames) {
        frames.next(); // the method above
        boolean direct = frames.hasNext() && isWithoutProxy(frames.next());
        while (frames.hasNext()) {
            if (isBelow(frames.next().getClassName())) {
                return platform.create(server, direct);
            }
        }
        return new RdmaSocketImpl(server, direct);
    }

    /** {@code new Socket(Proxy.NO_PROXY)} asks by itself, the other constructors by a method. */
    private static boolean isWithoutProxy(StackFrame caller) {
        return caller.getMethodName().equals("<init>") && caller.getClassName().equals("java.net.Socket");
    }

    private static boolean isBelow(String className) {
        if (!className.startsWith(OURS)) {
            return false;
        }
        int end = className.indexOf('.', OURS.length());
        return end > 0 && LAYERS.contains(className.substring(OURS.length(), end));
    }
}
