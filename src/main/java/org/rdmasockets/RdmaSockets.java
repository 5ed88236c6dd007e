package org.rdmasockets;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import org.rdmasockets.internal.connection.Property;
import org.rdmasockets.internal.socket.TransportsBean;

/**
 * The whole JVM's: the switch by which plain sockets become RDMA sockets, and the management bean.
 *
 * @since 0.1
 */
public final class RdmaSockets {
    /** Protected by this class. */
    private static boolean installed;

    private RdmaSockets() {}

    /**
     * Lets {@code new Socket(...)} and {@code new ServerSocket(...)} anywhere in this JVM follow the settings that
     * {@link RdmaSocket} follows, from now on and for good; a second call does nothing, nor does one
     * where the agent, or another copy of this library, has done it. Their option
     * {@link RdmaSocketOptions#TRANSPORT} tells what they go over. With {@code -Dorg.rdmasockets.datagrams=true},
     * {@code new DatagramSocket(...)} and {@code new MulticastSocket(...)} do so, too. Not replaced are sockets made
     * with a SOCKS or HTTP {@code Proxy}, NIO channels, and what the JDK builds on these, such as
     * {@code java.net.http}.
     *
     * <p>It needs Java to be started with {@code --add-opens java.base/java.net=org.rdmasockets}, or
     * {@code ALL-UNNAMED} if the library is on the class path; for datagrams {@code java.base/sun.nio.ch}, too. With
     * {@code -javaagent:rdma-sockets-agent.jar} it has been done already when {@code main} begins.
     *
     * @throws SocketException if package {@code java.net} is not open to this library, or other code has replaced the
     *         sockets of this JVM; the message says what to do
     * @throws IOException never otherwise
     */
    public static synchronized void install() throws IOException {
        if (installed) {
            return;
        }
        try {
            replace();
        } catch (SocketException e) {
            if (!areOurs()) {
                throw e;
            }
        }
        installed = true;
    }

    /**
     * Registers the management bean {@link TransportsMXBean} with the platform's MBean server, unless that was done
     * before. With {@code -Dorg.rdmasockets.mxbean=true} the first socket of the process does so. Does nothing where
     * module {@code java.management} is missing; a failure is a warning in the log. Any thread may call.
     * <em>May block</em>, for some hundred milliseconds.
     */
    public static void registerMXBean() {
        TransportsBean.register();
    }

    @SuppressWarnings("deprecation") // both methods are, for there is one factory per JVM; which is what is wanted here
    private static void replace() throws IOException {
        RdmaSocketImplFactory sockets = RdmaSocketImplFactory.ofSockets();
        RdmaSocketImplFactory serverSockets = RdmaSocketImplFactory.ofServerSockets();
        RdmaDatagramSocketImplFactory datagrams = Property.flag("datagrams") ? RdmaDatagramSocketImplFactory.make()
                : null;
        try {
            if (datagrams != null) {
                DatagramSocket.setDatagramSocketImplFactory(datagrams);
            }
            Socket.setSocketImplFactory(sockets); // first: with the other alone, nothing could be accepted
            ServerSocket.setSocketFactory(serverSockets);
        } catch (SocketException e) {
            throw (SocketException) new SocketException("Somebody else has replaced the sockets of this JVM: "
                    + e.getMessage()).initCause(e);
        }
    }

    /** Whether another copy of this library, such as the agent's, has replaced the sockets already. */
    private static boolean areOurs() throws IOException {
        try (Socket socket = new Socket(); ServerSocket server = new ServerSocket()) {
            return socket.supportedOptions().contains(RdmaSocketOptions.TRANSPORT)
                    && server.supportedOptions().contains(RdmaSocketOptions.TRANSPORT);
        } catch (RuntimeException e) {
            return false; // a foreign implementation without options
        }
    }
}
