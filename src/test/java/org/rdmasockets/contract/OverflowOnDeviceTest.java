package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;

/** With RDMA sockets on a device, a caller's stack overflow harms no other caller. */
@Tag("device")
class OverflowOnDeviceTest extends OverflowContract {
    @Override
    SocketFixture fixture() {
        return new DeviceFixture();
    }
}
