package org.rdmasockets.rpc;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.call.EndpointCarrier;

/** Calls over endpoints within one process. */
class CallOverSharedMemoryTest extends CallContract {
    private static final int MAX_MESSAGE = 4 << 20;

    @Override
    Carrier.Listener listen(int port) throws IOException {
        return EndpointCarrier.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), MAX_MESSAGE);
    }

    @Override
    Carrier connect(InetSocketAddress server, long limitNanos) throws IOException {
        return EndpointCarrier.connect(server, MAX_MESSAGE, limitNanos);
    }
}
