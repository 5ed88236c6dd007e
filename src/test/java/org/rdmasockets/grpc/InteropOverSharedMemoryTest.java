package org.rdmasockets.grpc;

import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** Over endpoints within one process. */
class InteropOverSharedMemoryTest extends InteropContract {
    @Override
    ServerBuilder<?> server() {
        return RdmaServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    @Override
    ManagedChannelBuilder<?> channel(int port) {
        return RdmaChannelBuilder.forAddress("127.0.0.1", port);
    }
}
