package org.rdmasockets.overflow;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assertions;
import org.rdmasockets.RdmaBuffer;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;

/** Sockets over one transport. */
final class SocketScene extends Scene {
    private static final int MILLIS = 2;
    private static final int BYTES = 64;

    private final Transport transport;
    private final RdmaServerSocket listener;
    private final List<Socket> others = new ArrayList<>();

    SocketScene(Transport transport) throws IOException {
        this.transport = transport;
        listener = new RdmaServerSocket();
        listener.setOption(RdmaSocketOptions.TRANSPORT, transport);
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread.ofVirtual().start(this::accept);
        for (int i = 0; i < 4; i++) {
            others.add(connect());
        }
    }

    private void accept() {
        try {
            while (true) {
                Socket one = listener.accept();
                Thread.Builder kind = one.getPort() % 2 == 0 ? Thread.ofVirtual() : Thread.ofPlatform().daemon();
                kind.start(() -> echo(one));
            }
        } catch (IOException e) {
            return; // closed
        }
    }

    /** Parked in a read, mostly. */
    private static void echo(Socket one) {
        try (one) {
            byte[] bytes = new byte[BYTES];
            for (int count = 0; count >= 0; count = one.getInputStream().read(bytes)) {
                one.getOutputStream().write(bytes, 0, count);
            }
        } catch (IOException e) {
            return; // broken by the other end
        }
    }

    private RdmaSocket connect() throws IOException {
        RdmaSocket socket = new RdmaSocket();
        socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
        socket.connect(listener.getLocalSocketAddress());
        return socket;
    }

    private static void talk(Socket socket) throws IOException {
        for (int i = 1; i <= 3; i++) {
            socket.getOutputStream().write(new byte[BYTES]);
            Assertions.assertEquals(BYTES, socket.getInputStream().readNBytes(BYTES).length);
        }
    }

    @Override
    void bystanders() throws IOException {
        for (Socket one : others) {
            talk(one);
        }
    }

    @Override
    void newcomer() throws IOException {
        try (Socket one = connect()) {
            talk(one);
        }
    }

    private RdmaSocket subject() throws IOException {
        value(() -> listener.getLocalSocketAddress());
        RdmaSocket socket = keep(connect());
        RdmaBuffer buffer = socket.allocateBuffer(BYTES);
        value(() -> buffer);
        value(OutputStream::nullOutputStream);
        socket.setSoTimeout(MILLIS);
        socket.getOutputStream().write(new byte[8 * BYTES]);
        return socket;
    }

    private static void use(RdmaSocket socket) throws IOException {
        socket.getOutputStream().write(1);
        socket.getInputStream().read();
    }

    private RdmaServerSocket server() throws IOException {
        subject();
        RdmaServerSocket server = keep(new RdmaServerSocket());
        server.setOption(RdmaSocketOptions.TRANSPORT, transport);
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        server.setSoTimeout(MILLIS);
        for (int i = 0; i < 2; i++) {
            RdmaSocket client = keep(new RdmaSocket());
            client.setOption(RdmaSocketOptions.TRANSPORT, transport);
            client.connect(server.getLocalSocketAddress());
        }
        return server;
    }

    /** A view of received bytes is tried by closing the result of {@code receive}. */
    @Override
    List<Subject> subjects() {
        RdmaSocket[] last = new RdmaSocket[1];
        return List.of(new Subject(this::subject, one -> use((RdmaSocket) one)),
                new Subject(() -> {
                    subject();
                    RdmaSocket unconnected = keep(new RdmaSocket());
                    unconnected.setOption(RdmaSocketOptions.TRANSPORT, transport);
                    return unconnected;
                }, one -> ((Socket) one).close()),
                new Subject(this::server, one -> ((RdmaServerSocket) one).accept().close()),
                new Subject(() -> (last[0] = subject()).getInputStream(), one -> use(last[0])),
                new Subject(() -> (last[0] = subject()).getOutputStream(), one -> use(last[0])),
                new Subject(() -> keep((last[0] = subject()).allocateBuffer(BYTES)), one -> use(last[0])));
    }

    @Override
    void end() throws Exception {
        super.end();
        for (Socket one : others) {
            one.close();
        }
        listener.close();
    }
}
