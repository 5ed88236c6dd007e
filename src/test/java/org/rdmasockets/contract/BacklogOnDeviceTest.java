package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;

/** RDMA sockets on a device. */
@Tag("device")
class BacklogOnDeviceTest extends BacklogContract {
    @Override
    SocketFixture fixture() {
        return new DeviceFixture();
    }
}
