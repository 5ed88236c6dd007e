package org.rdmasockets.grpc;

import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Tag;
import org.rdmasockets.TestDevice;

/** Over endpoints of the device that the properties name, see {@link TestDevice}. */
@Tag("device")
class InteropOnDeviceTest extends InteropContract {
    @Override
    ServerBuilder<?> server() throws IOException {
        return RdmaServerBuilder.forAddress(new InetSocketAddress(TestDevice.address(), 0));
    }

    @Override
    ManagedChannelBuilder<?> channel(int port) throws IOException {
        return RdmaChannelBuilder.forAddress(TestDevice.address().getHostAddress(), port);
    }
}
