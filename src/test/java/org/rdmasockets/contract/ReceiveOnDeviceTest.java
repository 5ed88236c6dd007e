package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;

/** RDMA sockets on a device lend what they have received. */
@Tag("device")
class ReceiveOnDeviceTest extends ReceiveContract {
    @Override
    SocketFixture fixture() {
        return new DeviceFixture();
    }
}
