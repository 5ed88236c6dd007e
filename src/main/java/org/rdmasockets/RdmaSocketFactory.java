package org.rdmasockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.Objects;
import javax.net.SocketFactory;
import org.rdmasockets.internal.lock.StackRoom;

/**
 * Makes an {@link RdmaSocket} wherever a program or library takes a {@code javax.net.SocketFactory}: an object, or the
 * name of this class, as JDBC drivers do. Any thread may use it.
 *
 * @since 0.1
 */
public final class RdmaSocketFactory extends SocketFactory {
    private static final RdmaSocketFactory DEFAULT = new RdmaSocketFactory();

    /** The transport that each socket asks for, null if the settings decide. */
    private final Transport wish;

    /** Makes a factory whose sockets go over the transport that the settings say. */
    public RdmaSocketFactory() {
        this.wish = null;
    }

    /**
     * Makes a factory whose sockets ask for one transport, see {@link RdmaSocketOptions#TRANSPORT}.
     *
     * @param transport one of the constants of {@link Transport}
     */
    public RdmaSocketFactory(Transport transport) {
        this.wish = Objects.requireNonNull(transport);
    }

    /**
     * {@return always the same factory, whose sockets go over the transport that the settings say} JNDI looks for a
     * method of this name.
     */
    public static SocketFactory getDefault() {
        return DEFAULT;
    }

    /**
     * Makes an unconnected socket.
     *
     * @return a new socket
     * @throws SocketException never; the superclass declares it
     */
    @Override
    public RdmaSocket createSocket() throws SocketException {
        StackRoom.ensure(); // a look-up of the JDK that overflows can leave its lock held for good: one may follow
        RdmaSocket socket = new RdmaSocket();
        if (wish != null) {
            try {
                socket.setOption(RdmaSocketOptions.TRANSPORT, wish);
            } catch (IOException e) {
                throw (SocketException) e; // no other thread can have closed or bound it
            }
        }
        return socket;
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return createSocket().connectOrClose(new InetSocketAddress(host, port), null);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return createSocket().connectOrClose(new InetSocketAddress(host, port), null);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localHost, int localPort) throws IOException {
        return createSocket().connectOrClose(new InetSocketAddress(host, port),
                new InetSocketAddress(localHost, localPort));
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress localHost, int localPort) throws IOException {
        return createSocket().connectOrClose(new InetSocketAddress(host, port),
                new InetSocketAddress(localHost, localPort));
    }
}
