package org.rdmasockets.endpoint;

import org.junit.jupiter.api.Tag;
import org.rdmasockets.TestDevice;

/** Endpoints over the device that the properties name, see {@link TestDevice}. */
@Tag("device")
class EndpointOnDeviceTest extends EndpointContract {
    @Override
    EndpointFixture fixture() {
        return new EndpointFixture(TestDevice.name(), TestDevice.address());
    }
}
