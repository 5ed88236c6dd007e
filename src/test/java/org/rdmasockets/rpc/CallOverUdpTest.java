package org.rdmasockets.rpc;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.session.SessionHub;

/** Calls over sessions over UDP. */
class CallOverUdpTest extends CallContract {
    private static final int MAX_MESSAGE = 4 << 20;

    @Override
    Carrier.Listener listen(int port) throws IOException {
        return SessionHub.listen(new DatagramSocket(port, InetAddress.getLoopbackAddress()), MAX_MESSAGE);
    }

    @Override
    Carrier connect(InetSocketAddress server, long limitNanos) throws IOException {
        return SessionHub.connect(new DatagramSocket(), server, MAX_MESSAGE, limitNanos);
    }
}
