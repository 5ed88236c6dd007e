package org.rdmasockets;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.DeviceFixture;
import org.rdmasockets.contract.InterleavingContract;
import org.rdmasockets.contract.SocketFixture;

/** RDMA sockets on a device come through every interleaving, and leave nothing in the kernel. */
@Tag("device")
class RdmaInterleavingOnDeviceTest extends InterleavingContract {
    /** Emulated machines are slow: the property asks for more. */
    private static final int COUNT_THERE = 200;

    /** librdmacm makes one protection domain for a device with its first connection, and keeps it. */
    @BeforeEach
    void useTheDevice() throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket()) {
            server.bind(new InetSocketAddress(fixture().address(), 0));
            RdmaSocket client = new RdmaSocket(fixture().address(), server.getLocalPort());
            server.accept().close();
            client.close();
        }
        Await.until("the first connection is gone", () -> holdings().get("qp") == 0, this::heldText);
    }

    @Override
    protected SocketFixture fixture() {
        return new DeviceFixture();
    }

    @Override
    protected Map<String, Long> holdings() throws IOException {
        return ResourceCount.now(TestDevice.name()).ofConnections();
    }

    @Override
    protected String heldText() throws IOException {
        return ResourceCount.listing();
    }

    @Override
    protected int count() {
        return Integer.getInteger(COUNT, COUNT_THERE);
    }
}
