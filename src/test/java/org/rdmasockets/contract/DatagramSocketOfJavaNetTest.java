package org.rdmasockets.contract;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.SocketAddress;

/** The JDK's own datagram sockets are the judge. */
class DatagramSocketOfJavaNetTest extends DatagramSocketContract {
    @Override
    DatagramSocket socket(SocketAddress address) throws IOException {
        return new DatagramSocket(address);
    }
}
