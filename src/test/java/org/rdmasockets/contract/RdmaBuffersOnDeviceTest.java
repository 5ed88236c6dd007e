package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;

/** RDMA sockets on a device are channels. */
@Tag("device")
class RdmaBuffersOnDeviceTest extends BufferContract {
    @Override
    SocketFixture fixture() {
        return new DeviceFixture();
    }
}
