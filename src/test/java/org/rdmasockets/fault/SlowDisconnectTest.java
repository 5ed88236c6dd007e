package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.endpoint.EndpointException;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointBuilder;
import org.rdmasockets.endpoint.RdmaEndpointServer;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.ConnectionEvent;

/**
 * The connection manager takes minutes to say that a connection has ended, or never does: both ends know by themselves,
 * and no thread waits for it.
 */
class SlowDisconnectTest {
    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0);
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** As soft-RoCE, which may take more than a minute when the answer to its request to disconnect is lost. */
    private final WatchedVerbs verbs = new WatchedVerbs(new SharedMemoryProvider(),
            event -> !(event instanceof ConnectionEvent.Disconnected));
    private Replacement replacement;

    @BeforeEach
    void replace() {
        replacement = new Replacement(verbs.provider());
    }

    @AfterEach
    void putBack() {
        replacement.close();
    }

    @Test
    void thePeerOfASocketReadsTheEnd() throws Exception {
        for (int round = 0; round < 10; round++) {
            try (RdmaServerSocket listener = new RdmaServerSocket(); RdmaSocket client = new RdmaSocket()) {
                listener.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY).bind(ANY_PORT);
                client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY)
                        .connect(listener.getLocalSocketAddress());
                RdmaSocket server = listener.accept();
                server.getOutputStream().write(new byte[] {1, 2, 3});
                Call.run(ThreadKind.VIRTUAL, "close", server::close).result();
                Call<byte[]> read = Call.start(ThreadKind.VIRTUAL, "read",
                        () -> client.getInputStream().readAllBytes());
                assertArrayEquals(new byte[] {1, 2, 3}, read.result());
            }
        }
        Await.until("everything is closed", () -> verbs.openIdentifiers() == 0, verbs::openIdentifiers);
    }

    /** The endpoints would linger for an hour if they waited for that event. */
    @Test
    void thePeerOfAnEndpointIsToldAndBothAreTornDown() throws Exception {
        RdmaEndpointBuilder patient = RdmaEndpoint.builder().device("sharedmemory").linger(Duration.ofHours(1));
        for (int round = 0; round < 10; round++) {
            try (RdmaEndpointServer listener = patient.listen(ANY_PORT);
                    RdmaEndpoint client = patient.connect(listener.localAddress());
                    RdmaEndpoint server = listener.accept(PATIENCE); LocalRegion region = server.allocate(3)) {
                server.send(region);
                Call.run(ThreadKind.VIRTUAL, "close", server::close).result();
                try (Message message = client.receive(PATIENCE)) {
                    assertEquals(3, message.length());
                }
                Call<Message> receive = Call.start(ThreadKind.VIRTUAL, "receive", client::receive);
                assertEquals(EndpointException.Reason.PEER_CLOSED, receive.failure(EndpointException.class).reason());
            }
        }
        Await.until("everything is closed", () -> verbs.openIdentifiers() == 0, verbs::openIdentifiers);
    }
}
