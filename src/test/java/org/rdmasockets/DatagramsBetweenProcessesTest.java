package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.PortUnreachableException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.interop.Program;
import org.rdmasockets.internal.provider.Providers;

/** Datagram sockets of two processes of this host, and one of {@code java.net}. */
class DatagramsBetweenProcessesTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int GUARD_MILLIS = 40_000;
    private static final int WINDOW = 16;
    private static final int ROUNDS = 2000;

    private static void requireSharedMemory() {
        Optional<String> reason = Providers.sharedMemory().unavailability();
        reason.ifPresent(r -> System.out.println("DatagramsBetweenProcessesTest skips: " + r));
        Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
    }

    private static InetSocketAddress address(Program server) throws Exception {
        return new InetSocketAddress(LOOPBACK, Integer.parseInt(server.awaitLine("port ")));
    }

    @Test
    void goThroughSharedMemoryUntilTheOtherIsKilled() throws Exception {
        requireSharedMemory();
        String port = Integer.toString(FreePorts.next(LOOPBACK));
        try (Program server = Program.java("UdpEcho", port); RdmaDatagramSocket socket = new RdmaDatagramSocket()) {
            InetSocketAddress address = address(server);
            socket.setSoTimeout(GUARD_MILLIS);
            byte[] sent = new byte[16_000];
            new Random(1).nextBytes(sent);
            DatagramPacket back = new DatagramPacket(new byte[20_000], 20_000);
            socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            socket.send(new DatagramPacket(sent, sent.length, address));
            socket.receive(back);
            assertEquals("sharedmemory", socket.getOption(RdmaSocketOptions.TRANSPORT).name());
            assertArrayEquals(sent, Arrays.copyOf(back.getData(), back.getLength()));
            assertEquals(address, back.getSocketAddress());
            exchange(socket, address);
            socket.connect(address);
            server.kill();
            server.awaitEnd();
            assertThrows(PortUnreachableException.class, () -> socket.receive(back));
            socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.AUTO);
            Await.until("datagrams go over UDP when nobody is there", () -> {
                socket.send(new DatagramPacket(sent, 1, address));
                return socket.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.UDP);
            });
            try (RdmaDatagramSocket next = new RdmaDatagramSocket(address)) {
                next.setSoTimeout(GUARD_MILLIS);
                Await.until("datagrams go to the next socket of that port", () -> {
                    socket.send(new DatagramPacket(sent, 2, address));
                    return socket.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.SHARED_MEMORY);
                });
                next.receive(back);
                assertEquals(socket.getLocalPort(), back.getPort());
            }
        }
    }

    @Test
    void theEndOfAProcessIsHeardOnlyByTheSocketsThatAreConnectedToIt() throws Exception {
        requireSharedMemory();
        try (Program server = Program.java("UdpEcho", "0"); Program other = Program.java("UdpEcho", "0");
                RdmaDatagramSocket stays = new RdmaDatagramSocket(); RdmaDatagramSocket left = new RdmaDatagramSocket();
                RdmaDatagramSocket unconnected = new RdmaDatagramSocket()) {
            stays.connect(address(server));
            left.connect(address(other));
            for (DatagramSocket socket : List.of(stays, left, unconnected)) {
                socket.setSoTimeout(GUARD_MILLIS);
                exchange(socket, socket == stays ? address(server) : address(other), 1);
            }
            other.kill();
            assertThrows(PortUnreachableException.class, () -> left.receive(new DatagramPacket(new byte[1], 1)));
            exchange(stays, address(server), 1);
            exchange(unconnected, address(server), 1);
        }
    }

    private static void exchange(DatagramSocket socket, InetSocketAddress address) throws Exception {
        exchange(socket, address, ROUNDS);
    }

    /** Over UDP one may overtake another: its sender has moved to another processor. */
    private static void exchange(DatagramSocket socket, InetSocketAddress address, int rounds) throws Exception {
        boolean inOrder = socket instanceof RdmaDatagramSocket;
        ByteBuffer data = ByteBuffer.allocate(64);
        DatagramPacket packet = new DatagramPacket(new byte[64], 64);
        for (int i = 0; i < rounds; i++) {
            for (int j = 0; j < WINDOW; j++) {
                data.putInt(0, i * WINDOW + j);
                socket.send(new DatagramPacket(data.array(), 64, address));
            }
            BitSet come = new BitSet();
            for (int j = 0; j < WINDOW; j++) {
                socket.receive(packet);
                int number = ByteBuffer.wrap(packet.getData()).getInt() - i * WINDOW;
                assertTrue(inOrder ? number == j : number >= 0 && number < WINDOW && !come.get(number),
                        "number " + number + " in place " + j + " of window " + i);
                come.set(number);
            }
        }
    }

    @Test
    void plainSocketIsAnsweredOverUdp() throws Exception {
        try (Program server = Program.java("UdpEcho", "0"); DatagramSocket plain = new DatagramSocket()) {
            plain.setSoTimeout(GUARD_MILLIS);
            exchange(plain, address(server));
            String told = server.awaitLine("/127.0.0.1:" + plain.getLocalPort());
            assertTrue(told.contains("over udp (sharedmemory: "), told);
        }
    }

    @Test
    void exampleTellsItsTransport() throws Exception {
        requireSharedMemory();
        try (Program server = Program.java("UdpEcho", "0");
                Program client = Program.java("UdpEcho", "127.0.0.1", "" + address(server).getPort(), "1000")) {
            String told = client.awaitLine("1000 of 1000 answers");
            assertTrue(told.contains("over sharedmemory"), told);
            client.awaitSuccess();
        }
    }
}
