package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;

/** RDMA sockets on a device send from buffers of their own. */
@Tag("device")
class DirectOnDeviceTest extends DirectContract {
    @Override
    SocketFixture fixture() {
        return new DeviceFixture();
    }
}
