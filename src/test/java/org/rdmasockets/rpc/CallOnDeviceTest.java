package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.TestDevice;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.call.EndpointCarrier;

/** Calls over endpoints over the device that the properties name, see {@link TestDevice}. */
@Tag("device")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallOnDeviceTest extends CallContract {
    private static final int MAX_MESSAGE = 4 << 20;

    @Override
    Carrier.Listener listen(int port) throws IOException {
        return EndpointCarrier.listen(new InetSocketAddress(TestDevice.address(), port), MAX_MESSAGE);
    }

    @Override
    Carrier connect(InetSocketAddress server, long limitNanos) throws IOException {
        Carrier carrier = EndpointCarrier.connect(server, MAX_MESSAGE, limitNanos);
        assertEquals(TestDevice.name(), carrier.transport());
        return carrier;
    }

    /** A guest without hardware support emulates each instruction. */
    @Override
    int many(int calls) {
        return calls / 25;
    }
}
