package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaSocket;

/** RDMA sockets over TCP lend a copy of what they have received. */
@RunIn(Place.TCP)
class ReceiveOverTcpTest extends ReceiveContract {
    @Test
    void bytesThatAreNotClosedAreFreedWhenNobodyCanReachThem() throws Exception {
        int many = 50;
        BufferPoolMXBean blocks = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct")).findFirst().orElseThrow();
        MemorySegment kept = receiveAndForget(7);
        long before = blocks.getCount();
        for (int i = 0; i < many; i++) {
            receiveAndForget(i);
        }
        Await.until("the collector has freed them", () -> {
            System.gc();
            return blocks.getCount() < before + many / 2;
        }, () -> blocks.getCount() + " blocks, " + before + " before");
        assertEquals(7, kept.get(ValueLayout.JAVA_BYTE, 0));
    }

    /** Returns a part of what was received. */
    private MemorySegment receiveAndForget(int value) throws IOException {
        try (ServerSocket listener = fixture().newServerSocket();
                RdmaSocket client = (RdmaSocket) fixture().newSocket()) {
            listener.bind(new InetSocketAddress(fixture().address(), 0));
            client.connect(listener.getLocalSocketAddress());
            try (RdmaSocket server = (RdmaSocket) listener.accept()) {
                server.getOutputStream().write(value);
                return client.receive().segment().asSlice(0, 1);
            }
        }
    }
}
