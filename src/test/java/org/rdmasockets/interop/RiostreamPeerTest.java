package org.rdmasockets.interop;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;

/** Both parts of riostream's protocol in Java understand each other over shared memory. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RiostreamPeerTest {
    @Test
    void clientAndServerPlayTogether() throws Exception {
        try (RdmaServerSocket listener = new RdmaServerSocket(); RdmaSocket client = new RdmaSocket()) {
            listener.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            listener.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
            client.setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 1);
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            client.connect(listener.getLocalSocketAddress());
            try (RdmaSocket server = listener.accept()) {
                Call<Void> served = Call.run(ThreadKind.PLATFORM, "serve",
                        () -> new RiostreamPeer(server, 5000).runServer(30, 3));
                new RiostreamPeer(client, 5000).runClient(30, 3);
                served.result();
            }
        }
    }
}
