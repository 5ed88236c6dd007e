package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
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

    /** A receiver finds a datagram, or is woken, whether it polls for itself or not. */
    @ParameterizedTest
    @ValueSource(ints = {0, 50, 1000})
    void answersComeHoweverLongAReceiverPollsForItself(int micros) throws Exception {
        for (DatagramSocket socket : List.of(first(), second())) {
            assertEquals(50, socket.getOption(RdmaSocketOptions.SPIN_MICROS));
            for (int wrong : new int[] {-1, 1001}) {
                assertThrows(IllegalArgumentException.class,
                        () -> socket.setOption(RdmaSocketOptions.SPIN_MICROS, wrong));
            }
            socket.setOption(RdmaSocketOptions.SPIN_MICROS, micros);
            assertEquals(micros, socket.getOption(RdmaSocketOptions.SPIN_MICROS));
        }
        int many = 200;
        Thread answers = Thread.ofVirtual().start(() -> {
            DatagramPacket packet = new DatagramPacket(new byte[1], 1);
            try {
                for (int i = 0; i < many; i++) {
                    second().receive(packet);
                    second().send(packet);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        DatagramPacket packet = new DatagramPacket(new byte[1], 1, second().getLocalSocketAddress());
        for (int i = 0; i < many; i++) {
            packet.getData()[0] = (byte) i;
            packet.setSocketAddress(second().getLocalSocketAddress());
            first().send(packet);
            first().receive(packet);
            assertEquals((byte) i, packet.getData()[0]);
        }
        answers.join();
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
