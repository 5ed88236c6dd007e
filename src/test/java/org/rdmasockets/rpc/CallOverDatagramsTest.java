package org.rdmasockets.rpc;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.session.SessionHub;

/** Calls over sessions over datagram sockets of this library. */
class CallOverDatagramsTest extends CallContract {
    private static final int MAX_MESSAGE = 4 << 20;

    @Override
    Carrier.Listener listen(int port) throws IOException {
        return SessionHub.listen(new RdmaDatagramSocket(port, InetAddress.getLoopbackAddress()), MAX_MESSAGE);
    }

    @Override
    Carrier connect(InetSocketAddress server, long limitNanos) throws IOException {
        return SessionHub.connect(new RdmaDatagramSocket(), server, MAX_MESSAGE, limitNanos);
    }
}
