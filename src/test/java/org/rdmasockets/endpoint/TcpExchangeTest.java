package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.internal.lock.NanoTimes;

/** Nodes that tell each other something over TCP, and callers that are none. */
class TcpExchangeTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int MAGIC = 0x52444558;

    /** Addresses whose ports are given only once. */
    static List<InetSocketAddress> freeAddresses(int count) throws IOException {
        return FreePorts.next(InetAddress.ofLiteral("127.0.0.1"), count);
    }

    private static Call<List<byte[]>> node(List<InetSocketAddress> nodes, int rank) {
        return EndpointContract.start("node " + rank,
                () -> TcpExchange.exchange(nodes, rank, new byte[] {(byte) rank, 7}, PATIENCE));
    }

    /** ibverbs-rs: an exchange of two and three nodes; here in any order of arrival. */
    @Test
    void allNodesLearnFromAll() throws Exception {
        for (int size = 1; size <= 5; size++) {
            List<InetSocketAddress> nodes = freeAddresses(size);
            List<Call<List<byte[]>>> calls = new ArrayList<>();
            for (int rank = size - 1; rank >= 0; rank--) { // the callers come first
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

    /** ibverbs-rs: truncated frames are rejected; here they do no harm. */
    @Test
    void strangersAreHungUpOn() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> lower = node(nodes, 0);
        byte[][] frames = {{}, {1, 2, 3}, frame(0, 1, 2, 3, 4, 5), call(0), call(2), call(-1), frame(MAGIC, 1)};
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

    /** A caller that sends a byte now and then is hung up on in the end. */
    @Test
    void whoTricklesIsHungUpOn() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> lower = node(nodes, 0);
        try (Socket stranger = dial(nodes.getFirst())) {
            stranger.setSoTimeout(1);
            stranger.getOutputStream().write(frame(MAGIC));
            Await.until("it is hung up on", () -> {
                try {
                    return stranger.getInputStream().read() < 0;
                } catch (SocketTimeoutException e) {
                    return false;
                }
            });
        }
        assertArrayEquals(new byte[] {1, 7}, node(nodes, 1).result().get(1));
        lower.result();
    }

    /** Strangers that say nothing, and strangers that say that they are node 1 and stay. */
    @Test
    void manyStrangersKeepNobodyOut() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> lower = node(nodes, 0);
        List<Socket> strangers = new ArrayList<>();
        try {
            for (int i = 0; i < 40; i++) {
                strangers.add(dial(nodes.getFirst()));
                if (i % 2 == 0) {
                    strangers.getLast().getOutputStream().write(call(1));
                }
            }
            strangers.getFirst().setSoTimeout(30_000);
            strangers.getFirst().getInputStream().transferTo(OutputStream.nullOutputStream()); // ends while others wait
            assertFalse(lower.isDone());
            assertArrayEquals(new byte[] {1, 7}, node(nodes, 1).result().get(1));
            assertArrayEquals(new byte[] {1, 7}, lower.result().get(1));
            for (Socket stranger : strangers) {
                stranger.setSoTimeout(30_000);
                stranger.getInputStream().transferTo(OutputStream.nullOutputStream()); // it is hung up on at the end
            }
        } finally {
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    /** A stranger calls first, as node 1, and also sends the answer of a node: the answer is ignored. */
    @Test
    void aCallerTakesNobodysPlace() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(3);
        Call<List<byte[]>> lowest = node(nodes, 0);
        try (Socket stranger = dial(nodes.getFirst())) {
            stranger.getOutputStream().write(call(1));
            stranger.getOutputStream().write(frame(MAGIC, 1, 2, 0x66660000, 0, 0, 0, 0, 0, 0, 0, 0));
            stranger.setSoTimeout(30_000);
            DataInputStream in = new DataInputStream(stranger.getInputStream());
            assertEquals(MAGIC, in.readInt(), "what is told is told to all");
            Call<List<byte[]>> second = node(nodes, 1);
            Call<List<byte[]>> third = node(nodes, 2);
            for (Call<List<byte[]>> one : List.of(lowest, second, third)) {
                assertArrayEquals(new byte[] {1, 7}, one.result().get(1));
            }
        }
    }

    /** Other hosts are hung up on before they say anything: here another address of this one. */
    @Test
    void whoCallsFromAnotherHostIsHungUpOn() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> lower = node(nodes, 0);
        dial(nodes.getFirst()).close(); // it listens
        try (Socket stranger = new Socket()) {
            stranger.bind(new InetSocketAddress("127.0.0.77", 0));
            stranger.connect(nodes.getFirst());
            stranger.setSoTimeout(30_000);
            assertEquals(-1, stranger.getInputStream().read(), "it is hung up on at once");
        }
        assertFalse(lower.isDone());
        node(nodes, 1).result();
        lower.result();
    }

    private static Call<List<byte[]>> nodeWith(List<InetSocketAddress> nodes, int rank, String secret, Duration limit) {
        return EndpointContract.start("node " + rank, () -> TcpExchange.exchange(nodes, rank, new TcpExchange.Words() {
            @Override
            public byte[] to(int other) {
                return new byte[] {(byte) rank, (byte) other};
            }

            @Override
            public void from(int other, byte[] bytes) {
                assertArrayEquals(new byte[] {(byte) other, (byte) rank}, bytes);
            }
        }, secret.getBytes(StandardCharsets.US_ASCII), NanoTimes.after(limit)));
    }

    @Test
    void nodesThatKnowTheSecretFindEachOther() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(3);
        List<Call<List<byte[]>>> calls = new ArrayList<>();
        for (int rank = 0; rank < 3; rank++) {
            calls.add(nodeWith(nodes, rank, "sixteen bytes, or more", PATIENCE));
        }
        for (int rank = 0; rank < 3; rank++) {
            assertArrayEquals(new byte[] {1, (byte) rank}, calls.get(rank).result().get(1));
        }
    }

    @Test
    void aNodeWithAnotherSecretIsNotBelieved() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> one = nodeWith(nodes, 0, "sixteen bytes, or more", Duration.ofSeconds(3));
        Call<List<byte[]>> other = nodeWith(nodes, 1, "sixteen other bytes", Duration.ofSeconds(3));
        SocketTimeoutException e = one.failure(SocketTimeoutException.class);
        assertTrue(e.getMessage().contains("does not know the secret of the group: give all nodes the same"),
                e::getMessage);
        other.failure(SocketTimeoutException.class);
    }

    /** It has recorded what node 1 had answered to another call, and listens where node 1 should. */
    @Test
    void aRecordedAnswerIsNotBelieved() throws Exception {
        List<InetSocketAddress> nodes = freeAddresses(2);
        Call<List<byte[]>> genuine = nodeWith(nodes, 1, "sixteen bytes, or more", Duration.ofSeconds(5));
        byte[] answer;
        try (Socket recorder = dial(nodes.get(1))) {
            recorder.getOutputStream().write(call(0));
            recorder.setSoTimeout(30_000);
            answer = recorder.getInputStream().readNBytes(3 * Integer.BYTES + 2 + 32);
        }
        genuine.failure(SocketTimeoutException.class);
        try (ServerSocket replay = listenAt(nodes.get(1))) {
            Thread.ofVirtual().start(() -> answerAll(replay, answer));
            Call<List<byte[]>> lower = nodeWith(nodes, 0, "sixteen bytes, or more", Duration.ofSeconds(2));
            assertTrue(lower.failure(SocketTimeoutException.class).getMessage().contains("secret"));
        }
    }

    /** Listens where a node did: a process that another test starts has a copy of its socket for a moment. */
    private static ServerSocket listenAt(InetSocketAddress address) throws IOException, InterruptedException {
        for (int left = 1_000;; left--) {
            ServerSocket server = new ServerSocket();
            server.setReuseAddress(true);
            try {
                server.bind(address);
                return server;
            } catch (BindException e) {
                server.close();
                if (left == 0) {
                    throw e;
                }
                Thread.sleep(10);
            }
        }
    }

    /** Gives the same answer to all who call, until the server is closed. */
    private static void answerAll(ServerSocket server, byte[] answer) {
        while (!server.isClosed()) {
            try (Socket caller = server.accept()) {
                caller.getInputStream().readNBytes(call(0).length);
                caller.getOutputStream().write(answer);
            } catch (IOException e) {
                continue; // closed, or hung up
            }
        }
    }

    /** The frame that node {@code rank} sends when it calls. */
    static byte[] call(int rank) {
        return frame(MAGIC, rank, 1, 2, 3, 4);
    }

    private static byte[] frame(int... words) {
        ByteBuffer buffer = ByteBuffer.allocate(words.length * Integer.BYTES);
        for (int word : words) {
            buffer.putInt(word);
        }
        return buffer.array();
    }

    static Socket dial(InetSocketAddress address) throws Exception {
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
        try (ServerSocket stranger = listenAt(nodes.getFirst())) {
            Thread.ofVirtual().start(() -> answerAll(stranger, frame(MAGIC, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)));
            SocketTimeoutException e = assertThrows(SocketTimeoutException.class,
                    () -> TcpExchange.exchange(nodes, 1, new byte[0], Duration.ofSeconds(2)));
            assertTrue(e.getMessage().contains("rank 1 is where rank 0 should be"), e::getMessage);
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
