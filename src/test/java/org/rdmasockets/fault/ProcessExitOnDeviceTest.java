package org.rdmasockets.fault;

import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.rdmasockets.TestDevice;

/** Over an RDMA device. */
@Tag("device")
@Tag("further-jvms")
class ProcessExitOnDeviceTest extends ProcessExitContract {
    @Override
    InetAddress address() {
        return TestDevice.address();
    }

    @Override
    List<String> options() {
        return List.of("-Dorg.rdmasockets.transport=ibverbs");
    }
}
