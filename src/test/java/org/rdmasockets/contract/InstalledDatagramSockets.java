package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.RdmaSockets;
import org.rdmasockets.Transport;

/** Plain datagram sockets that were replaced, for {@link InstalledDatagramSocketsTest}. */
class InstalledDatagramSockets extends RdmaDatagramSocketContract {
    static {
        try {
            RdmaSockets.install();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    InstalledDatagramSockets() {
        super(Transport.AUTO, Transport.SHARED_MEMORY);
    }

    @Override
    DatagramSocket socket(SocketAddress address) throws IOException {
        return new DatagramSocket(address);
    }

    /** There is none but what is under an RDMA socket. */
    @Test
    @Override
    void datagramOfAPlainSocketArrivesAndIsAnswered() throws Exception {
        try (DatagramSocket udp = new DatagramSocket(new InetSocketAddress(address(), 0))) {
            udp.setOption(RdmaSocketOptions.TRANSPORT, Transport.UDP);
            DatagramPacket packet = new DatagramPacket(new byte[] {9}, 1, second().getLocalSocketAddress());
            udp.send(packet);
            second().receive(packet);
            assertEquals("udp", second().getOption(RdmaSocketOptions.TRANSPORT).name());
        }
    }

    /** The JDK's layer between a socket and what was put under it has its own words. */
    @Override
    String noMoreSends() {
        return "Socket is closed";
    }

    /** That layer does not hear of it, and knows only its own close. */
    @Override
    void checkClosedByInterrupt(DatagramSocket interrupted) {
        DatagramPacket packet = new DatagramPacket(new byte[1], 1, first().getLocalSocketAddress());
        assertEquals("Socket closed", assertThrows(SocketException.class, () -> interrupted.send(packet)).getMessage());
    }

    /** The same sockets do the work in other suites. */
    @Test
    @Override
    void hundredThousandArriveWithAWindow() throws Exception {
        manyArriveWithAWindow(6400);
    }

    @Test
    void multicastGoesAsEver() throws Exception {
        InetAddress group = InetAddress.ofLiteral("230.9.8.7");
        NetworkInterface loopback = NetworkInterface.getByInetAddress(address());
        try (MulticastSocket one = new MulticastSocket(0);
                MulticastSocket other = new MulticastSocket(one.getLocalPort());
                DatagramSocket sender = new DatagramSocket(new InetSocketAddress(address(), 0))) {
            for (MulticastSocket member : new MulticastSocket[] {one, other}) {
                member.joinGroup(new InetSocketAddress(group, 0), loopback);
                member.setSoTimeout((int) (Await.LIMIT_SECONDS * 1000));
                assertTrue(member.getReuseAddress());
            }
            sender.setOption(StandardSocketOptions.IP_MULTICAST_IF, loopback);
            sender.setOption(StandardSocketOptions.IP_MULTICAST_TTL, 0);
            sender.send(new DatagramPacket(new byte[] {1, 2}, 2, group, one.getLocalPort()));
            for (MulticastSocket member : new MulticastSocket[] {one, other}) {
                DatagramPacket packet = new DatagramPacket(new byte[2], 2);
                member.receive(packet);
                assertArrayEquals(new byte[] {1, 2}, packet.getData());
                assertEquals(sender.getLocalSocketAddress(), packet.getSocketAddress());
                member.leaveGroup(new InetSocketAddress(group, 0), loopback);
            }
        }
    }

    @Test
    @SuppressWarnings("deprecation") // programs use them
    void optionsOfMulticastAreKept() throws Exception {
        try (MulticastSocket socket = new MulticastSocket(0)) {
            assertTrue(socket.getNetworkInterface() != null && socket.getInterface().isAnyLocalAddress());
            socket.setInterface(address());
            assertEquals(address(), socket.getInterface());
            socket.setNetworkInterface(NetworkInterface.getByInetAddress(address()));
            assertEquals(NetworkInterface.getByInetAddress(address()), socket.getNetworkInterface());
            socket.setTimeToLive(7);
            assertEquals(7, socket.getTimeToLive());
            assertEquals(7, socket.getOption(StandardSocketOptions.IP_MULTICAST_TTL));
            socket.setLoopbackMode(true);
            assertTrue(socket.getLoopbackMode());
            assertFalse(socket.getOption(StandardSocketOptions.IP_MULTICAST_LOOP));
            socket.setTrafficClass(8);
            assertEquals(8, socket.getTrafficClass());
        }
    }

    @Test
    void rdmaDatagramSocketsAreNoneOfThese() throws Exception {
        try (DatagramSocket rdma = new RdmaDatagramSocket(new InetSocketAddress(address(), 0))) {
            DatagramPacket packet = new DatagramPacket(new byte[] {3}, 1, second().getLocalSocketAddress());
            rdma.send(packet);
            second().receive(packet);
            check(second());
            second().send(packet);
            rdma.setSoTimeout((int) (Await.LIMIT_SECONDS * 1000));
            rdma.receive(packet);
            check(rdma);
            rdma.setReuseAddress(true); // while the port is read
        }
    }
}
