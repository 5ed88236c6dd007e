package org.rdmasockets.internal.datagram;

import java.net.InetAddress;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.rdmasockets.TestDevice;
import org.rdmasockets.Transport;

/** The thread that takes in what a device's queue pairs receive ends. */
@Tag("device")
class PollerFailureOnDeviceTest extends PollerFailureTest {
    @Override
    Transport transport() {
        return Transport.IBVERBS;
    }

    @Override
    InetAddress address() {
        return TestDevice.address();
    }

    @Override
    Optional<String> obstacle() {
        return TestDevice.name().startsWith("siw") ? Optional.of("device limit: iWARP has no datagrams")
                : Optional.empty();
    }
}
