package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;

/** RDMA sockets on a device map memory for each other. */
@Tag("device")
class MapOnDeviceTest extends MapContract {
    @Override
    SocketFixture fixture() {
        return new DeviceFixture();
    }
}
