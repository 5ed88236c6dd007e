package org.rdmasockets.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.Optional;

/** Plain sockets of the JDK on the loopback interface. */
public class TcpFixture implements SocketFixture {
    /** Why RDMA sockets have no urgent data, but over TCP. */
    static final String NOT_URGENT = "a stream over RDMA has no second channel for it";

    private static final int MOST_SILENCERS = 100;

    @Override
    public Socket newSocket() throws IOException {
        return new Socket();
    }

    @Override
    public ServerSocket newServerSocket() throws IOException {
        return new ServerSocket();
    }

    @Override
    public InetAddress address() {
        return InetAddress.ofLiteral("127.0.0.1");
    }

    @Override
    public Optional<InetAddress> address6() {
        InetAddress loopback = InetAddress.ofLiteral("::1");
        try (ServerSocket attempt = new ServerSocket(0, 1, loopback)) {
            return Optional.of(attempt.getInetAddress());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** The Linux kernel does not answer once as many connections wait as were allowed to. */
    @Override
    public InetSocketAddress silentDestination(Keeper keeper) throws IOException {
        ServerSocket full = keeper.keep(new ServerSocket(0, 1, address()));
        InetSocketAddress destination = new InetSocketAddress(address(), full.getLocalPort());
        for (int i = 0; i < MOST_SILENCERS; i++) {
            try {
                keeper.keep(new Socket()).connect(destination, 200);
            } catch (SocketTimeoutException e) {
                return destination;
            }
        }
        throw new IOException("the backlog of " + destination + " takes more than " + MOST_SILENCERS);
    }

    @Override
    public Optional<String> whyNot(Ability ability) {
        return switch (ability) {
            case IPV6 -> address6().isEmpty() ? Optional.of("this machine has no ::1") : Optional.empty();
            case URGENT_DATA -> getClass() == TcpFixture.class ? Optional.empty() : Optional.of(NOT_URGENT);
            default -> Optional.empty();
        };
    }

    @Override
    public int manyConnections() {
        return 500;
    }
}
