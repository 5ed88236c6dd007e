package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.SocketAddress;
import java.net.SocketException;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** The behaviour of an RDMA datagram socket over one transport. */
@Bystanders
abstract class RdmaDatagramSocketContract extends DatagramSocketContract {
    private final Transport wish;
    private final Transport expected;

    RdmaDatagramSocketContract(Transport wish, Transport expected) {
        this.wish = wish;
        this.expected = expected;
    }

    @Override
    DatagramSocket socket(SocketAddress address) throws IOException {
        DatagramSocket socket = new RdmaDatagramSocket(address);
        return socket.setOption(RdmaSocketOptions.TRANSPORT, wish);
    }

    @Override
    void check(DatagramSocket used) throws IOException {
        assertEquals(expected.name(), used.getOption(RdmaSocketOptions.TRANSPORT).name());
    }

    @Override
    boolean isInOrder() {
        return expected.is(Transport.SHARED_MEMORY);
    }

    @Override
    void answer(DatagramPacket packet) throws Exception {
        if (wish.is(Transport.SHARED_MEMORY)) {
            assertThrows(SocketException.class, () -> second().send(packet));
        }
        if (!wish.is(Transport.UDP)) {
            second().setOption(RdmaSocketOptions.TRANSPORT, Transport.AUTO);
        }
        second().send(packet);
        assertEquals("udp", second().getOption(RdmaSocketOptions.TRANSPORT).name());
    }

    @Override
    void toPlain(DatagramPacket packet) throws Exception {
        if (!wish.is(Transport.UDP)) {
            first().setOption(RdmaSocketOptions.TRANSPORT, Transport.AUTO);
        }
        super.toPlain(packet);
    }

    @Test
    void streamTransportsAreRefused() {
        assertThrows(IllegalArgumentException.class,
                () -> second().setOption(RdmaSocketOptions.TRANSPORT, Transport.TCP));
    }

    @Test
    void socketOfTwoKindsOfWaysHearsBoth() throws Exception {
        try (DatagramSocket udp = new RdmaDatagramSocket(0)) {
            udp.setOption(RdmaSocketOptions.TRANSPORT, Transport.UDP);
            DatagramPacket packet = new DatagramPacket(new byte[60_000], 60_000, second().getLocalSocketAddress());
            udp.send(packet);
            second().receive(packet);
            assertEquals(60_000, packet.getLength());
            assertEquals("udp", second().getOption(RdmaSocketOptions.TRANSPORT).name());
        }
    }
}
