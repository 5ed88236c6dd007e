package org.rdmasockets.internal.socket;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.net.SocketException;
import java.net.SocketImpl;

/**
 * Makes what {@code java.net}'s sockets consist of where no factory is set, plain or by the SOCKS settings. With one
 * set there is no public way to that, so {@code java.net} must be open to this library. Any thread may call anything.
 */
public record PlatformSockets(MethodHandle plain, MethodHandle socks) {
    /** Finds the way in. Throws if {@code java.net} is closed, or has changed; the message says what to do. */
    public static PlatformSockets find() throws SocketException {
        try {
            Lookup inside = MethodHandles.privateLookupIn(SocketImpl.class, MethodHandles.lookup());
            Class<?> socksImpl = inside.findClass("java.net.SocksSocketImpl");
            return new PlatformSockets(
                    inside.findStatic(SocketImpl.class, "createPlatformSocketImpl",
                            MethodType.methodType(SocketImpl.class, boolean.class)),
                    inside.findConstructor(socksImpl, MethodType.methodType(void.class, SocketImpl.class))
                            .asType(MethodType.methodType(SocketImpl.class, SocketImpl.class)));
        } catch (IllegalAccessException e) {
            throw refused("The sockets of this JVM cannot be replaced, because TCP would be lost: start Java with "
                    + "-javaagent:rdma-sockets-agent.jar, or with --add-opens java.base/java.net=" + us(), e);
        } catch (ReflectiveOperationException e) {
            throw refused("The sockets of this JVM cannot be replaced: Java " + Runtime.version()
                    + " is not known to this version of rdma-sockets", e);
        }
    }

    /** Says why the sockets of this JVM cannot be replaced. */
    public static SocketException refused(String text, Exception cause) {
        return (SocketException) new SocketException(text).initCause(cause);
    }

    /** As the options of the JVM name this module. */
    public static String us() {
        Module module = PlatformSockets.class.getModule();
        return module.isNamed() ? module.getName() : "ALL-UNNAMED";
    }

    /** Makes the implementation of one socket, not created yet; {@code direct} if it passes proxies over. */
    public SocketImpl create(boolean server, boolean direct) {
        try {
            SocketImpl tcp = (SocketImpl) plain.invokeExact(server);
            return server || direct ? tcp : (SocketImpl) socks.invokeExact(tcp);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable t) {
            throw new IllegalStateException(t); // neither declares any
        }
    }
}
