package org.rdmasockets.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Optional;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.StreamKind;

/** RDMA sockets whose streams are carried in one way, at the place of another fixture. */
record StreamKindFixture(SocketFixture place, StreamKind kind) implements SocketFixture {
    @Override
    public Socket newSocket() throws IOException {
        return place.newSocket().setOption(RdmaSocketOptions.STREAM_KIND, kind);
    }

    @Override
    public ServerSocket newServerSocket() throws IOException {
        return place.newServerSocket().setOption(RdmaSocketOptions.STREAM_KIND, kind);
    }

    @Override
    public InetAddress address() {
        return place.address();
    }

    @Override
    public Optional<InetAddress> address6() {
        return place.address6();
    }

    @Override
    public InetSocketAddress silentDestination(Keeper keeper) throws IOException {
        return place.silentDestination(keeper);
    }

    @Override
    public Optional<String> whyNot(Ability ability) {
        return place.whyNot(ability);
    }

    @Override
    public int manyConnections() {
        return place.manyConnections();
    }
}
