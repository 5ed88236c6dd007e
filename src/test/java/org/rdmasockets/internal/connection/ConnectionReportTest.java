package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;

/** The report through the life of a connection; between processes it is told by the doctor's test. */
class ConnectionReportTest {
    /** The line of the end with these ports; empty if there is none. */
    private static Map<String, String> line(int local, int remote) {
        for (String line : ConnectionReport.now().split("\n")) {
            String[] words = line.split("\t", -1);
            Map<String, String> values = new HashMap<>();
            for (int i = 0; i + 1 < words.length; i += 2) {
                values.put(words[i], words[i + 1]);
            }
            if (values.getOrDefault("local", "").endsWith(":" + local)
                    && values.getOrDefault("remote", "").endsWith(":" + remote)) {
                return values;
            }
        }
        return Map.of();
    }

    @ParameterizedTest
    @ValueSource(strings = {"sharedmemory", "tcp"})
    void aConnectionIsToldFromItsBacklogToItsEnd(String transport) throws Exception {
        boolean tcp = transport.equals("tcp");
        try (RdmaServerSocket server = new RdmaServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            int port = server.getLocalPort();
            int own = exchange(server, new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT,
                    new Transport(transport, "")), tcp);
            Await.until("the end of both", () -> line(port, own).isEmpty() && line(own, port).isEmpty());
        }
    }

    /** Connects, exchanges bytes and closes both ends; gives the client's port. */
    private static int exchange(ServerSocket server, Socket connecting, boolean tcp) throws Exception {
        try (Socket client = connecting) {
            int port = server.getLocalPort();
            client.connect(server.getLocalSocketAddress());
            int own = client.getLocalPort();
            Await.until("the server's end", () -> line(port, own).containsKey("reason"));
            assertEquals("not accepted yet", line(port, own).get("reason"));
            try (Socket accepted = server.accept()) {
                assertEquals("the peer connected over it", line(port, own).get("reason"));
                client.getOutputStream().write(new byte[5]);
                Await.until("5 bytes", () -> accepted.getInputStream().available() == 5);
                assertEquals("5", line(port, own).get("unread"));
                assertEquals("0", line(port, own).get("received"));
                assertEquals(5, accepted.getInputStream().readNBytes(5).length);
                assertEquals("5", line(port, own).get("received"));
                assertEquals("5", line(own, port).get("sent"));
                assertEquals("open", line(own, port).get("state"));
                client.shutdownOutput();
                assertEquals("shut here", line(own, port).get("state"));
                assertEquals(-1, accepted.getInputStream().read());
                assertEquals(tcp ? "open" : "peer shut", line(port, own).get("state"));
            }
            return own;
        }
    }

    @Test
    void endpointsAreToldWithoutBytes() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (RdmaEndpointServer server = RdmaEndpoint.builder().listen(any);
                RdmaEndpoint client = RdmaEndpoint.builder().connect(server.localAddress());
                RdmaEndpoint accepted = server.accept()) {
            Map<String, String> line = line(client.localAddress().getPort(), accepted.localAddress().getPort());
            assertEquals("messages", line.get("kind"), line::toString);
            assertTrue(Long.parseLong(line.get("registered")) > 0, line::toString);
        }
    }
}
