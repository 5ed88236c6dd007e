package org.rdmasockets.contract;

import org.junit.jupiter.api.Tag;
import org.rdmasockets.StreamKind;

/** Streams through a ring whose position is read on a device are what the contracts ask for. */
@Tag("device")
class ReadRingOnDeviceTest extends StreamKindContract {
    @Override
    StreamKind kind() {
        return StreamKind.READ_RING;
    }

    @Override
    SocketFixture place() {
        return new DeviceFixture();
    }
}
