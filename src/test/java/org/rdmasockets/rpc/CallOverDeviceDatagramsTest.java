package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.TestDevice;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.session.SessionHub;

/** Calls in sessions over the datagram queue pairs of the device that the properties name; over UDP if it has none. */
@Tag("device")
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallOverDeviceDatagramsTest extends CallContract {
    private static final int MAX_MESSAGE = 4 << 20;
    private static final int ATTEMPTS = 1000;
    private static final boolean ABLE = !TestDevice.name().startsWith("siw");
    private static final Transport TRANSPORT = ABLE ? Transport.IBVERBS : Transport.UDP;

    private static RdmaDatagramSocket socket(int port, Transport transport) throws IOException {
        RdmaDatagramSocket socket = new RdmaDatagramSocket((SocketAddress) null);
        socket.setReuseAddress(true); // so that auto does not lead over shared memory
        socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
        socket.bind(new InetSocketAddress(TestDevice.address(), port));
        return socket;
    }

    private static RpcServer serve(Transport transport) throws IOException {
        return RpcServer.builder().unary("echo", (request, call) -> request)
                .datagrams(local -> socket(0, transport)).listen(0);
    }

    private static RpcClient connect(RpcServer server, Transport transport) throws IOException {
        return RpcClient.builder().datagrams(local -> socket(0, transport)).connect(server.localAddress());
    }

    /** So that no handshake waits for what the first queue pair loads. */
    @BeforeAll
    static void loadAllCode() throws Exception {
        try (RdmaDatagramSocket one = socket(0, Transport.AUTO); RdmaDatagramSocket two = socket(0, TRANSPORT)) {
            one.setSoTimeout(100);
            for (int i = 0; i < ATTEMPTS && !one.getOption(RdmaSocketOptions.TRANSPORT).is(TRANSPORT); i++) {
                two.send(new DatagramPacket(new byte[1], 1, one.getLocalSocketAddress()));
                try {
                    one.receive(new DatagramPacket(new byte[1], 1));
                    one.send(new DatagramPacket(new byte[1], 1, two.getLocalSocketAddress()));
                } catch (SocketTimeoutException e) {
                    continue;
                }
            }
        }
    }

    @Override
    Carrier.Listener listen(int port) throws IOException {
        return SessionHub.listen(socket(port, TRANSPORT), MAX_MESSAGE);
    }

    @Override
    Carrier connect(InetSocketAddress server, long limitNanos) throws IOException {
        return SessionHub.connect(socket(0, TRANSPORT), server, MAX_MESSAGE, limitNanos);
    }

    /** A guest without hardware support emulates each instruction. */
    @Override
    int many(int calls) {
        return calls / 25;
    }

    /** An end that may choose learns by the first datagrams whether both have a queue pair; one that is told, too. */
    @ParameterizedTest
    @ValueSource(strings = {"auto", "ibverbs"})
    void bothEndsUseTheirQueuePairs(String client) throws Exception {
        assumeTrue(ABLE || client.equals("auto"), "device limit: iWARP has no datagrams");
        byte[] ping = {1, 2, 3};
        try (RpcServer server = serve(Transport.AUTO); RpcClient calling = connect(server, new Transport(client, ""))) {
            Await.until("the client uses " + TRANSPORT.name(), () -> {
                assertArrayEquals(ping, calling.call("echo", ping));
                return calling.transport().equals(TRANSPORT.name());
            }, calling::transport);
            for (int i = 0; i < 100; i++) {
                assertArrayEquals(ping, calling.call("echo", ping));
            }
            assertEquals(0, server.droppedDatagrams());
        }
    }

    @Test
    void aDeviceWithoutDatagramsSaysSo() throws Exception {
        assumeTrue(!ABLE, "this device has datagrams");
        try (RpcServer server = serve(Transport.AUTO)) {
            String message = assertThrows(IOException.class, () -> connect(server, Transport.IBVERBS)).getMessage();
            assertTrue(message.contains(TestDevice.name()) && message.contains("has no datagrams"), message);
        }
    }
}
