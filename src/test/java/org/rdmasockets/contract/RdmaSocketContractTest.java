package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;

/** RDMA sockets keep the contract on the device that the properties name. */
@Tag("device")
class RdmaSocketContractTest extends SocketContract {
    @Override
    protected SocketFixture fixture() {
        return new DeviceFixture();
    }
}
