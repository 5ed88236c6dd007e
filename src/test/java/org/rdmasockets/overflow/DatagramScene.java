package org.rdmasockets.overflow;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assertions;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;

/** Datagram sockets over one transport. */
final class DatagramScene extends Scene {
    private static final int BYTES = 64;
    /** For an answer, which may get lost. */
    private static final int MILLIS = 200;

    private final Transport transport;
    private final RdmaDatagramSocket echo;
    private final List<DatagramSocket> others = new ArrayList<>();

    DatagramScene(Transport transport) throws IOException {
        this.transport = transport;
        echo = socket();
        Thread.ofVirtual().start(this::echo);
        for (int i = 0; i < 4; i++) {
            others.add(socket());
        }
    }

    private RdmaDatagramSocket socket() throws IOException {
        RdmaDatagramSocket made = new RdmaDatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        made.setOption(RdmaSocketOptions.TRANSPORT, transport);
        return made;
    }

    private void echo() {
        DatagramPacket packet = new DatagramPacket(new byte[BYTES], BYTES);
        while (!echo.isClosed()) {
            try {
                packet.setLength(BYTES);
                echo.receive(packet);
                echo.send(packet);
            } catch (IOException e) {
                continue; // its sender is closed, or this
            }
        }
    }

    private DatagramPacket packet() {
        return new DatagramPacket(new byte[BYTES], BYTES, echo.getLocalSocketAddress());
    }

    private void talk(DatagramSocket socket) throws Exception {
        socket.setSoTimeout(MILLIS);
        Await.until("an echo", () -> {
            socket.send(packet());
            try {
                socket.receive(new DatagramPacket(new byte[BYTES], BYTES));
                return true;
            } catch (SocketTimeoutException e) {
                return false;
            }
        });
    }

    @Override
    void bystanders() throws Exception {
        for (DatagramSocket one : others) {
            talk(one);
        }
    }

    @Override
    void newcomer() throws Exception {
        try (DatagramSocket one = socket()) {
            talk(one);
        }
    }

    private DatagramSocket subject() throws IOException {
        value(this::packet);
        value(() -> echo.getLocalSocketAddress());
        RdmaDatagramSocket made = keep(socket());
        made.setSoTimeout(2);
        for (int i = 0; i < 4; i++) {
            made.send(packet());
        }
        return made;
    }

    @Override
    List<Subject> subjects() {
        return List.of(new Subject(this::subject, one -> {
            DatagramSocket used = (DatagramSocket) one;
            used.setSoTimeout(2);
            used.send(packet());
            try {
                used.receive(new DatagramPacket(new byte[BYTES], BYTES));
            } catch (SocketTimeoutException e) {
                Assertions.assertFalse(used.isClosed());
            }
        }, "joinGroup", "leaveGroup"));
    }

    @Override
    void end() throws Exception {
        super.end();
        others.forEach(DatagramSocket::close);
        echo.close();
    }
}
