package org.rdmasockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Objects;
import javax.net.ServerSocketFactory;

/**
 * Makes an {@link RdmaServerSocket} wherever a program or library takes a {@code javax.net.ServerSocketFactory}. Any
 * thread may use it.
 *
 * @since 0.1
 */
public final class RdmaServerSocketFactory extends ServerSocketFactory {
    private static final RdmaServerSocketFactory DEFAULT = new RdmaServerSocketFactory();

    /** The transport that each server socket asks for, null if the settings decide. */
    private final Transport wish;

    /** Makes a factory whose server sockets listen on the transports that the settings say. */
    public RdmaServerSocketFactory() {
        this.wish = null;
    }

    /**
     * Makes a factory whose server sockets ask for one transport, see {@link RdmaSocketOptions#TRANSPORT}.
     *
     * @param transport one of the constants of {@link Transport}
     */
    public RdmaServerSocketFactory(Transport transport) {
        this.wish = Objects.requireNonNull(transport);
    }

    /** {@return always the same factory, whose server sockets listen on the transports that the settings say} */
    public static ServerSocketFactory getDefault() {
        return DEFAULT;
    }

    @Override
    public RdmaServerSocket createServerSocket() throws IOException {
        RdmaServerSocket server = new RdmaServerSocket();
        if (wish != null) {
            server.setOption(RdmaSocketOptions.TRANSPORT, wish);
        }
        return server;
    }

    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
        return createServerSocket(port, 0, null);
    }

    @Override
    public ServerSocket createServerSocket(int port, int backlog) throws IOException {
        return createServerSocket(port, backlog, null);
    }

    @Override
    public ServerSocket createServerSocket(int port, int backlog, InetAddress address) throws IOException {
        return createServerSocket().bindOrClose(new InetSocketAddress(address, port), backlog);
    }
}
