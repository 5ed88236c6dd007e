package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.FreePorts;

/** Nodes that tell each other something over TCP, and callers that are none. */
class TcpExchangeTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** Addresses that nobody else gets. */
    static List<InetSocketAddress> freeAddresses(int count) throws IOException {
        return FreePorts.next(InetAddress.ofLiteral("127.0.0.1"), count);
    }

    private static Call<List<byte[]>> node(List<InetSocketAddress> nodes, int rank) {
        return EndpointTrial.start("node " + rank,
                () -> TcpExchange.exchange(nodes, rank, new byte[] {(byte) rank, 7}, PATIENCE));
    }

    /** ibverbs-rs: an exchange of two and three nodes; here in any order of arrival. */
    @Test
    void allNodesLearnFromAll() throws Exception {
        for (int size = 1; size <= 5; size++) {
            List<InetSocketAddress> nodes = freeAddresses(size);
            List<Call<List<byte[]>>> calls = new ArrayList<>();
            for (int rank = size - 1; rank >= 0; rank--) { // those who call come first
                calls.add(node(nodes, rank));
            }
            for (Call<List<byte[]>> call : calls) {
                List<byte[]> all = call.result();
                assertEquals(size, all.size());
                for (int rank = 0; rank < size; rank++) {
                    assertArrayEquals(new byte[] {(byte) rank, 7}, all.get(rank));
                }
            }
        }
    }

    /** ibverbs-rs: truncated frames are rejected; here nobody is harmed by them. */
    @Test
    void strangersAreHungUpOn() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> lower = node(nodes, 0);
        int magic = 0x52444558;
        byte[][] frames = {
            {}, {1, 2, 3}, frame(0, 1, 2), frame(magic, 0, 0), frame(magic, 2, 0), frame(magic, -1, 0),
            frame(magic, 1, -1), frame(magic, 1, TcpExchange.MAX_BYTES + 1), frame(magic, 1, 100)};
        for (byte[] frame : frames) {
            try (Socket stranger = dial(nodes.getFirst())) {
                stranger.getOutputStream().write(frame);
                stranger.shutdownOutput();
                stranger.setSoTimeout(30_000);
                assertEquals(-1, stranger.getInputStream().read(), "it is hung up on");
            }
        }
        assertArrayEquals(new byte[] {1, 7}, node(nodes, 1).result().get(1));
        assertArrayEquals(new byte[] {1, 7}, lower.result().get(1));
    }

    /** Somebody who says a byte now and then is not heard for ever. */
    @Test
    void whoTricklesIsHungUpOn() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> lower = node(nodes, 0);
        try (Socket stranger = dial(nodes.getFirst())) {
            stranger.setSoTimeout(1);
            stranger.getOutputStream().write(frame(0x52444558, 1, TcpExchange.MAX_BYTES));
            Await.until("it is hung up on", () -> {
                try {
                    stranger.getOutputStream().write(0);
                    return stranger.getInputStream().read() < 0;
                } catch (SocketTimeoutException e) {
                    return false;
                } catch (IOException e) {
                    return true;
                }
            });
        }
        assertArrayEquals(new byte[] {1, 7}, node(nodes, 1).result().get(1));
        lower.result();
    }

    @Test
    void manyStrangersKeepNobodyOut() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> lower = node(nodes, 0);
        List<Socket> strangers = new ArrayList<>();
        try {
            for (int i = 0; i < 30; i++) {
                strangers.add(dial(nodes.getFirst()));
            }
            assertArrayEquals(new byte[] {1, 7}, node(nodes, 1).result().get(1));
            assertArrayEquals(new byte[] {1, 7}, lower.result().get(1));
            for (Socket stranger : strangers) {
                stranger.setSoTimeout(30_000);
                assertEquals(-1, stranger.getInputStream().read(), "it is hung up on at the end");
            }
        } finally {
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    private static byte[] frame(int... words) {
        ByteBuffer buffer = ByteBuffer.allocate(words.length * Integer.BYTES);
        for (int word : words) {
            buffer.putInt(word);
        }
        return buffer.array();
    }

    private static Socket dial(InetSocketAddress address) throws Exception {
        Socket[] socket = new Socket[1];
        Await.until("somebody listens", () -> {
            try {
                socket[0] = new Socket(address.getAddress(), address.getPort());
                return true;
            } catch (IOException e) {
                return false;
            }
        });
        return socket[0];
    }

    @Test
    void aNodeThatIsNotThereEndsTheExchangeInTime() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        for (int rank = 0; rank < 2; rank++) {
            int own = rank;
            SocketTimeoutException e = assertThrows(SocketTimeoutException.class,
                    () -> TcpExchange.exchange(nodes, own, new byte[0], Duration.ofMillis(200)));
            assertTrue(e.getMessage().contains("node " + (1 - own)), e::getMessage);
        }
    }

    @Test
    void aStrangerAtTheAddressOfANodeIsNotBelieved() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        try (ServerSocket stranger = new ServerSocket(nodes.getFirst().getPort(), 5, nodes.getFirst().getAddress())) {
            Thread.ofVirtual().start(() -> {
                try (Socket caller = stranger.accept()) {
                    new DataInputStream(caller.getInputStream()).readInt();
                    caller.getOutputStream().write(frame(0x52444558, 1, 0));
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            assertThrows(SocketTimeoutException.class,
                    () -> TcpExchange.exchange(nodes, 1, new byte[0], Duration.ofMillis(500)));
        }
    }

    /** ibverbs-rs: validation of the network; ranks are places in a list, so that they are contiguous. */
    @Test
    void impossibleNetworksAreRefused() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        assertThrows(IllegalArgumentException.class, () -> TcpExchange.exchange(List.of(), 0, new byte[0], PATIENCE));
        assertThrows(IllegalArgumentException.class, () -> TcpExchange.exchange(nodes, 2, new byte[0], PATIENCE));
        assertThrows(IllegalArgumentException.class, () -> TcpExchange.exchange(nodes, -1, new byte[0], PATIENCE));
        assertThrows(IllegalArgumentException.class,
                () -> TcpExchange.exchange(List.of(nodes.get(0), nodes.get(0)), 0, new byte[0], PATIENCE));
        assertThrows(IllegalArgumentException.class,
                () -> TcpExchange.exchange(nodes, 0, new byte[TcpExchange.MAX_BYTES + 1], PATIENCE));
        try (ServerSocket taken = new ServerSocket(nodes.getFirst().getPort(), 5, nodes.getFirst().getAddress())) {
            assertThrows(BindException.class, () -> TcpExchange.exchange(nodes, 0, new byte[0], PATIENCE));
            assertTrue(taken.isBound());
        }
    }
}
