package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;

/** {@code examples/Gateway} in front of plain TCP servers: what a client sees is what it would see without it. */
class GatewayTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int PATIENCE_MILLIS = TestBed.PATIENCE_MILLIS;
    private static final int MANY = 40;

    /** Where client and gateway meet. */
    Place place() {
        return Place.here().orSkip();
    }

    private static Program gateway(Place place, int port) throws IOException {
        return Program.java(place.options(), "Gateway", "0", LOOPBACK.getHostAddress(), Integer.toString(port));
    }

    private static RdmaSocket connect(Place place, Program gateway) throws Exception {
        int port = Integer.parseInt(gateway.awaitLine("port ").replaceFirst(" .*", ""));
        RdmaSocket socket = new RdmaSocket();
        socket.connect(new InetSocketAddress(place.address(), port), PATIENCE_MILLIS);
        assertTrue(socket.getOption(RdmaSocketOptions.TRANSPORT).is(place.transport()), socket::toString);
        socket.setSoTimeout(PATIENCE_MILLIS);
        return socket;
    }

    private static ServerSocket plainServer() throws IOException {
        ServerSocket server = new ServerSocket(0, MANY, LOOPBACK);
        server.setSoTimeout(PATIENCE_MILLIS);
        return server;
    }

    private static Socket accept(ServerSocket server) throws IOException {
        Socket socket = server.accept();
        socket.setSoTimeout(PATIENCE_MILLIS);
        return socket;
    }

    private static byte[] randomBytes(Place place, int seed) {
        byte[] bytes = new byte[place.length()];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** The server answers only when it has everything: the end of one direction must pass while the other is open. */
    @Test
    void eachDirectionEndsByItself() throws Exception {
        Place place = place();
        byte[] question = randomBytes(place, 1);
        byte[] answer = randomBytes(place, 2);
        try (ServerSocket server = plainServer(); Program gateway = gateway(place, server.getLocalPort());
                Socket client = connect(place, gateway)) {
            Call<byte[]> asked = Call.start(ThreadKind.PLATFORM, "serve", () -> {
                try (Socket socket = accept(server)) {
                    byte[] all = socket.getInputStream().readAllBytes();
                    socket.getOutputStream().write(answer);
                    return all;
                }
            });
            client.getOutputStream().write(question);
            client.shutdownOutput();
            assertArrayEquals(answer, client.getInputStream().readAllBytes());
            assertArrayEquals(question, asked.result());
        }
    }

    /** The server talks first and ends first; the client still may say something. */
    @Test
    void theServerMayEndFirst() throws Exception {
        Place place = place();
        try (ServerSocket server = plainServer(); Program gateway = gateway(place, server.getLocalPort());
                Socket client = connect(place, gateway); Socket socket = accept(server)) {
            socket.getOutputStream().write("bye".getBytes());
            socket.shutdownOutput();
            assertEquals("bye", new String(client.getInputStream().readAllBytes()));
            client.getOutputStream().write("so long".getBytes());
            client.shutdownOutput();
            assertEquals("so long", new String(socket.getInputStream().readAllBytes()));
        }
    }

    @Test
    void aResetIsNoEnd() throws Exception {
        Place place = place();
        try (ServerSocket server = plainServer(); Program gateway = gateway(place, server.getLocalPort())) {
            try (Socket client = connect(place, gateway)) {
                reset(accept(server));
                assertReset(client);
            }
            Socket client = connect(place, gateway);
            try (Socket socket = accept(server)) {
                reset(client);
                assertReset(socket);
            }
        }
    }

    private static void reset(Socket socket) throws IOException {
        try (socket) {
            socket.setSoLinger(true, 0);
        }
    }

    private static void assertReset(Socket socket) {
        SocketException e = assertThrows(SocketException.class, () -> socket.getInputStream().read());
        assertTrue(e.getMessage().contains("reset"), e::getMessage);
    }

    @Test
    void whereNobodyListensTheClientIsReset() throws Exception {
        Place place = place();
        int port;
        try (ServerSocket server = plainServer()) {
            port = server.getLocalPort();
        }
        try (Program gateway = gateway(place, port); Socket client = connect(place, gateway)) {
            assertReset(client);
        }
    }

    @Test
    void carriesManyAtOnce() throws Exception {
        Place place = place();
        try (ServerSocket server = plainServer(); Program gateway = gateway(place, server.getLocalPort())) {
            Call<Void> serve = Call.run(ThreadKind.PLATFORM, "serve", () -> echo(server));
            List<Call<byte[]>> clients = new ArrayList<>();
            for (int i = 0; i < MANY; i++) {
                byte[] own = randomBytes(place, i);
                clients.add(Call.start(ThreadKind.VIRTUAL, "client " + i, () -> {
                    try (Socket client = connect(place, gateway)) {
                        Call<Void> write = Call.run(ThreadKind.VIRTUAL, "write",
                                () -> client.getOutputStream().write(own));
                        byte[] back = client.getInputStream().readNBytes(own.length);
                        write.result();
                        return back;
                    }
                }));
            }
            for (int i = 0; i < MANY; i++) {
                assertArrayEquals(randomBytes(place, i), clients.get(i).result(), "client " + i);
            }
            serve.result();
        }
    }

    /** Serves as many clients as there will be. */
    private static void echo(ServerSocket server) throws IOException {
        for (int i = 0; i < MANY; i++) {
            Socket socket = accept(server);
            Thread.startVirtualThread(() -> {
                try (socket) {
                    socket.getInputStream().transferTo(socket.getOutputStream());
                } catch (IOException e) {
                    System.out.println("GatewayTest: the echo server lost a client: " + e);
                }
            });
        }
    }
}
