package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;
import org.rdmasockets.StreamKind;

/** Streams of messages on a device are what the contracts ask for. */
@Tag("device")
class SendReceiveOnDeviceTest extends StreamKindContract {
    @Override
    StreamKind kind() {
        return StreamKind.SEND_RECEIVE;
    }

    @Override
    SocketFixture place() {
        return new DeviceFixture();
    }
}
