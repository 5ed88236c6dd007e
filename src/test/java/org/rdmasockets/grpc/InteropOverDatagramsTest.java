package org.rdmasockets.grpc;

import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** Over sessions over datagram sockets of this library. */
class InteropOverDatagramsTest extends InteropContract {
    @Override
    ServerBuilder<?> server() {
        return RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)).datagrams();
    }

    @Override
    ManagedChannelBuilder<?> channel(int port) {
        return RdmaChannelBuilder.forTarget("dns:///127.0.0.1:" + port).datagrams();
    }
}
