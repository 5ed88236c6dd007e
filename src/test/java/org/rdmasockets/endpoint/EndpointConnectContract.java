package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Call;

/** Connecting, listening, and what several connections have in common. */
abstract class EndpointConnectContract extends EndpointContract {
    @Test
    void bothEndsKnowAddressesAndDevice() throws Exception {
        try (RdmaEndpointServer server = builder().listen(anyPort());
                RdmaEndpoint client = builder().connect(server.localAddress());
                RdmaEndpoint accepted = server.accept(PATIENCE)) {
            assertNotEquals(0, server.localAddress().getPort());
            assertEquals(server.localAddress(), client.remoteAddress());
            assertEquals(client.localAddress().getPort(), accepted.remoteAddress().getPort());
            assertEquals(fixture().device(), client.device().name());
            assertEquals(fixture().device(), accepted.device().name());
        }
    }

    @Test
    void hostNamesAreResolved() throws Exception {
        try (RdmaEndpointServer server = builder().listen(anyPort());
                RdmaEndpoint client = builder().connect(fixture().address().getHostAddress(),
                        server.localAddress().getPort())) {
            assertEquals(server.localAddress(), client.remoteAddress());
        }
        assertThrows(UnknownHostException.class,
                () -> builder().connect(InetSocketAddress.createUnresolved("nobody.invalid", 7471)));
        assertThrows(UnknownHostException.class,
                () -> builder().listen(InetSocketAddress.createUnresolved("nobody.invalid", 0)));
    }

    @Test
    void whereNobodyListensConnectingIsRefused() throws Exception {
        InetSocketAddress nobody;
        try (RdmaEndpointServer server = builder().listen(anyPort())) {
            nobody = server.localAddress();
        }
        ConnectException e = assertThrows(ConnectException.class, () -> builder().connect(nobody));
        assertTrue(e.getMessage().startsWith("Connection refused"), e::getMessage);
    }

    @Test
    void aTakenPortIsRefused() throws Exception {
        try (RdmaEndpointServer server = builder().listen(anyPort())) {
            for (RdmaEndpointBuilder builder : List.of(builder(), RdmaEndpoint.builder())) {
                String told = assertThrows(BindException.class, () -> builder.listen(server.localAddress()))
                        .getMessage();
                assertTrue(told.startsWith("Address already in use"), told);
            }
        }
    }

    @Test
    void anAddressOfAnotherHostIsRefused() {
        String told = assertThrows(BindException.class,
                () -> RdmaEndpoint.builder().listen(new InetSocketAddress("192.0.2.1", 0))).getMessage();
        assertTrue(told.startsWith("Cannot assign requested address"), told);
    }

    /** async-rdma: missing device name. */
    @Test
    void aDeviceThatIsNotThereIsNamedWithThoseThatAre() {
        refused(EndpointException.Reason.LIMIT, fixture().device(),
                () -> RdmaEndpoint.builder().device("nobody0").connect(anyPort()));
        refused(EndpointException.Reason.LIMIT, "nobody0",
                () -> RdmaEndpoint.builder().device("nobody0").listen(anyPort()));
    }

    /** async-rdma: completion queue, work requests and elements over the caps of the device. */
    @Test
    void sizesOverTheCapsOfTheDeviceAreRefused() throws Exception {
        try (RdmaEndpointServer server = builder().listen(anyPort())) {
            InetSocketAddress at = server.localAddress();
            int many = Integer.MAX_VALUE / 4;
            refused(EndpointException.Reason.LIMIT, "send queue", () -> builder().sendQueue(many).connect(at));
            refused(EndpointException.Reason.LIMIT, "receive queue",
                    () -> builder().raw(true).receiveQueue(many).connect(at));
            refused(EndpointException.Reason.LIMIT, "completion queue",
                    () -> builder().completionQueue(many).connect(at));
            refused(EndpointException.Reason.LIMIT, "elements", () -> builder().elements(many).connect(at));
        }
    }

    @Test
    void whatNobodyCanDoIsRefusedByTheBuilder() {
        assertThrows(IllegalArgumentException.class, () -> builder().sendQueue(0));
        assertThrows(IllegalArgumentException.class, () -> builder().receiveBuffers(1, 8192));
        assertThrows(IllegalArgumentException.class, () -> builder().receiveBuffers(8, 56));
        assertThrows(IllegalArgumentException.class, () -> builder().maxMessage(0));
        assertThrows(IllegalArgumentException.class, () -> builder().operationTimeout(Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> builder().linger(Duration.ofSeconds(-1)));
        assertThrows(IllegalArgumentException.class, () -> builder().remoteMemory(-1));
    }

    @Test
    void aPortOrGidThatIsNotThereIsRefused() throws Exception {
        try (RdmaEndpointServer server = builder().listen(anyPort())) {
            InetSocketAddress at = server.localAddress();
            refused(EndpointException.Reason.LIMIT, "port", () -> builder().port(77).connect(at));
            refused(EndpointException.Reason.LIMIT, "needs the name of a device",
                    () -> RdmaEndpoint.builder().gidIndex(0).connect(at));
            assertThrows(IOException.class, () -> builder().gidIndex(100_000).connect(at));
        }
    }

    @Test
    void severalConnectionsAtOnce() throws Exception {
        try (RdmaEndpointServer server = builder().listen(anyPort())) {
            List<RdmaEndpoint> clients = new ArrayList<>();
            List<RdmaEndpoint> accepted = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                clients.add(closing(builder().connect(server.localAddress())));
                accepted.add(closing(server.accept(PATIENCE)));
            }
            for (int i = 0; i < 8; i++) {
                clients.get(i).send(filled(clients.get(i), 100 + i, i));
            }
            for (int i = 7; i >= 0; i--) {
                try (Message message = accepted.get(i).receive(PATIENCE)) {
                    assertArrayEquals(random(100 + i, i), message.toArray());
                }
            }
        }
    }

    /** async-rdma: rdma.new_connect and rdma.listen share the parent's resources. */
    @Test
    void aFurtherConnectionSharesMemoryUnlessItIsParted() throws Exception {
        Pair first = connect();
        LocalRegion region = fill(first.client().allocate(64), 5);
        try (RdmaEndpointServer server = builder().listen(anyPort());
                RdmaEndpoint sharing = first.client().another().connect(server.localAddress());
                RdmaEndpoint receiver = server.accept(PATIENCE);
                RdmaEndpoint parted = first.client().another().ownProtectionDomain().connect(server.localAddress())) {
            sharing.send(region);
            assertArrayEquals(random(64, 5), receiver.receive(PATIENCE).toArray());
            IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> parted.send(region));
            assertTrue(e.getMessage().contains("another endpoint"), e::getMessage);
            first.client().close();
            sharing.send(region); // lives as long as one of them
            assertArrayEquals(random(64, 5), receiver.receive(PATIENCE).toArray());
        }
    }

    /** async-rdma: attributes of further connections; its port and protection domain were not applied. */
    @Test
    void aFurtherConnectionHasItsOwnAccessAndPort() throws Exception {
        Pair first = connect();
        try (RdmaEndpointServer server = builder().listen(anyPort());
                RdmaEndpoint open = first.client().another().access(READ_WRITE).connect(server.localAddress());
                LocalRegion reachable = open.allocate(64); LocalRegion closed = first.client().allocate(64)) {
            assertTrue(reachable.access().containsAll(READ_WRITE), () -> "" + reachable.access());
            assertTrue(closed.access().stream().noneMatch(READ_WRITE::contains), () -> "" + closed.access());
            refused(EndpointException.Reason.LIMIT, "port",
                    () -> first.client().another().port(77).connect(server.localAddress()));
        }
    }

    @Test
    void aServerCanShareMemoryWithItsConnections() throws Exception {
        Pair first = connect();
        LocalRegion region = fill(first.server().allocate(64), 6);
        try (RdmaEndpointServer server = first.server().another().listen(anyPort());
                RdmaEndpoint client = builder().connect(server.localAddress());
                RdmaEndpoint accepted = server.accept(PATIENCE)) {
            accepted.send(region);
            assertArrayEquals(random(64, 6), client.receive(PATIENCE).toArray());
        }
    }

    @Test
    void rawAndOtherEndpointsDoNotConnect() throws Exception {
        try (RdmaEndpointServer server = builder().listen(anyPort())) {
            assertThrows(ConnectException.class, () -> builder().raw(true).connect(server.localAddress()));
        }
    }

    @Test
    void closingAServerWakesWhoAccepts() throws Exception {
        RdmaEndpointServer server = builder().listen(anyPort());
        Call<RdmaEndpoint> accept = start("accept", () -> server.accept()).awaitBlocked();
        server.close();
        accept.failure(SocketException.class);
        server.close();
        assertThrows(SocketException.class, server::accept);
    }

    @Test
    void acceptGivesUpInTime() throws Exception {
        try (RdmaEndpointServer server = builder().listen(anyPort())) {
            assertThrows(SocketTimeoutException.class, () -> server.accept(Duration.ofMillis(50)));
        }
    }
}
