package org.rdmasockets.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Optional;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.TestDevice;

/** RDMA sockets at the address of the device that the properties name, see {@link TestDevice}. */
public final class DeviceFixture implements SocketFixture {
    private static final int SILENT_HOST = 99;
    private static final int ANY_PORT = 7471;

    @Override
    public Socket newSocket() throws IOException {
        return new RdmaSocket();
    }

    @Override
    public ServerSocket newServerSocket() throws IOException {
        return new RdmaServerSocket();
    }

    @Override
    public InetAddress address() {
        return TestDevice.address();
    }

    @Override
    public Optional<InetAddress> address6() {
        return TestDevice.address6();
    }

    /** In the test guest the devices' networks have one host; no other answers. */
    @Override
    public InetSocketAddress silentDestination(Keeper keeper) throws IOException {
        byte[] host = address().getAddress();
        host[host.length - 1] = SILENT_HOST;
        return new InetSocketAddress(InetAddress.getByAddress(host), ANY_PORT);
    }

    @Override
    public Optional<String> whyNot(Ability ability) {
        return switch (ability) {
            case IPV6 -> address6().isPresent() ? Optional.empty()
                    : Optional.of("the device's interface has none, and none is given by -D" + TestDevice.ADDRESS6);
            case URGENT_DATA -> Optional.of(TcpFixture.NOT_URGENT);
            default -> Optional.empty();
        };
    }

    @Override
    public int manyConnections() {
        return 100;
    }
}
