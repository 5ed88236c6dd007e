package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;

/** RDMA sockets on a device harm nobody when a caller's stack overflows. */
@Tag("device")
class OverflowOnDeviceTest extends OverflowContract {
    @Override
    SocketFixture fixture() {
        return new DeviceFixture();
    }
}
