package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.SocketException;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaBuffer;
import org.rdmasockets.RdmaSocket;

/** RDMA sockets over TCP say that nothing can be mapped there. */
@RunIn(Place.TCP)
class MapOverTcpTest extends SocketContract {
    @Test
    void nothingIsMappedOverTcp() throws Exception {
        SocketPair pair = pair();
        RdmaSocket client = (RdmaSocket) pair.client();
        assertTrue(assertThrows(SocketException.class, () -> client.map(1, 0)).getMessage().contains("TRANSPORT"));
        RdmaBuffer buffer = client.allocateBuffer(1);
        assertThrows(SocketException.class, () -> client.place(0, buffer, 0, 1));
        client.write(buffer, 0, 1);
        assertEquals(1, pair.server().getInputStream().readNBytes(1).length);
    }
}
