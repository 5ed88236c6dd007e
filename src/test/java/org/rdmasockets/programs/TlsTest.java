package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.RdmaServerSocketFactory;
import org.rdmasockets.RdmaSocketFactory;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.TestBed;

/** TLS of the JDK, layered on our sockets at both ends. */
class TlsTest {
    private static final int PATIENCE_MILLIS = TestBed.PATIENCE_MILLIS;
    private static final int LENGTH = 300_000;

    @TempDir
    private Path directory;

    /** Where client and server meet. */
    Place place() {
        return Place.here().orSkip();
    }

    /** How much the example echoes, in megabytes. */
    int megabytes() {
        return 100;
    }

    /** Makes the pairs of sockets; each end in its own thread, for a handshake takes two. */
    private final class Ends implements AutoCloseable {
        private final Transport transport;
        private final ServerSocket server;

        Ends(Transport transport) throws IOException {
            this.transport = transport;
            this.server = new RdmaServerSocketFactory(transport).createServerSocket(0, 5, place().address());
            server.setSoTimeout(PATIENCE_MILLIS);
        }

        /** The accepting end, as a TLS server. */
        SSLSocket accept(TlsKeys keys) throws Exception {
            return accept(keys.context());
        }

        SSLSocket accept(SSLContext context) throws IOException {
            Socket socket = server.accept();
            socket.setSoTimeout(PATIENCE_MILLIS);
            return (SSLSocket) context.getSocketFactory().createSocket(socket, null, true);
        }

        SSLSocket connect(TlsKeys.Client client) throws IOException {
            return connect(client.context());
        }

        SSLSocket connect(SSLContext context) throws IOException {
            Socket socket = new RdmaSocketFactory(transport).createSocket();
            socket.connect(new InetSocketAddress(place().address(), server.getLocalPort()), PATIENCE_MILLIS);
            socket.setSoTimeout(PATIENCE_MILLIS);
            assertTrue(socket.getOption(RdmaSocketOptions.TRANSPORT).is(transport));
            return (SSLSocket) context.getSocketFactory().createSocket(socket, place().host(), server.getLocalPort(),
                    true);
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    /** Two processes, two connections: the second resumes the session of the first. */
    @Test
    @Timeout(600)
    void whatIsEchoedIsEqual() throws Exception {
        Place place = place();
        assertEquals(equal(place, megabytes()), echo(place, megabytes()));
        assertEquals(equal(place.tcp(), 1), echo(place.tcp(), 1));
    }

    private static List<String> equal(Place place, int megabytes) {
        String rest = "0000 bytes came back, equal, over " + place.transport().name();
        return List.of("TLSv1.3 new session: " + megabytes + "00" + rest, "TLSv1.3 resumed: " + megabytes + rest);
    }

    private List<String> echo(Place place, int megabytes) throws Exception {
        String file = directory.resolve("keys." + place.transport().name()).toString();
        List<String> options = place.transport().is(Transport.IBVERBS) ? place.options()
                : place.options("-XX:TieredStopAtLevel=4"); // ciphers are slow without the second compiler
        try (Program server = Program.java(options, "TlsEcho", "server", place.host(), "0", file);
                Program client = Program.java(options, "TlsEcho", place.host(), server.awaitLine("port "), file,
                        Integer.toString(megabytes))) {
            return client.awaitSuccess().lines().filter(line -> line.startsWith("TLS")).toList();
        }
    }

    @Test
    void sessionsAreResumed() throws Exception {
        TlsKeys keys = TlsKeys.make(directory.resolve("keys"), place().host());
        try (Ends ends = new Ends(place().transport())) {
            TlsKeys.Client client = keys.client();
            for (int i = 0; i < 3; i++) {
                exchange(ends, keys, client);
                assertEquals(1, client.shown(), "certificates shown");
            }
            TlsKeys.Client other = keys.client();
            exchange(ends, keys, other);
            assertEquals(1, other.shown(), "certificates shown to a client without a memory");
        }
    }

    private static void exchange(Ends ends, TlsKeys keys, TlsKeys.Client client) throws Exception {
        Call<String> served = Call.start(ThreadKind.VIRTUAL, "serve", () -> {
            try (SSLSocket socket = ends.accept(keys)) {
                socket.getInputStream().transferTo(socket.getOutputStream());
                return socket.getSession().getProtocol();
            }
        });
        try (SSLSocket socket = ends.connect(client)) {
            InputStream in = socket.getInputStream();
            socket.getOutputStream().write("hello".getBytes());
            assertEquals("hello", new String(in.readNBytes(5)));
            socket.shutdownOutput();
            assertEquals(-1, in.read());
        }
        assertEquals("TLSv1.3", served.result());
    }

    @Test
    void eachDirectionEndsByItself() throws Exception {
        TlsKeys keys = TlsKeys.make(directory.resolve("keys"), place().host());
        byte[] question = randomBytes(1);
        byte[] answer = randomBytes(2);
        try (Ends ends = new Ends(place().transport())) {
            Call<byte[]> served = Call.start(ThreadKind.VIRTUAL, "serve", () -> {
                try (SSLSocket socket = ends.accept(keys)) {
                    socket.getOutputStream().write(answer);
                    socket.shutdownOutput(); // first, and still reads
                    return socket.getInputStream().readAllBytes();
                }
            });
            try (SSLSocket socket = ends.connect(keys.client())) {
                InputStream in = socket.getInputStream();
                assertArrayEquals(answer, in.readAllBytes());
                assertTrue(!socket.isOutputShutdown() && !socket.isClosed());
                socket.getOutputStream().write(question);
                socket.shutdownOutput();
                assertEquals(-1, in.read());
            }
            assertArrayEquals(question, served.result());
        }
    }

    /** rdma-io, its gRPC: the server asks for a certificate, too. */
    @Test
    void bothSidesShowACertificate() throws Exception {
        TlsKeys keys = TlsKeys.make(directory.resolve("server"), place().host());
        TlsKeys clients = TlsKeys.make(directory.resolve("client"), place().host());
        try (Ends ends = new Ends(place().transport())) {
            Call<String> served = Call.start(ThreadKind.VIRTUAL, "serve", () -> {
                try (SSLSocket socket = ends.accept(keys.trusting(clients))) {
                    socket.setNeedClientAuth(true);
                    socket.getInputStream().transferTo(socket.getOutputStream());
                    return socket.getSession().getPeerPrincipal().getName();
                }
            });
            try (SSLSocket socket = ends.connect(clients.trusting(keys))) {
                socket.getOutputStream().write("hello".getBytes());
                assertEquals("hello", new String(socket.getInputStream().readNBytes(5)));
                assertEquals("CN=server", socket.getSession().getPeerPrincipal().getName());
                socket.shutdownOutput();
                assertEquals(-1, socket.getInputStream().read());
            }
            assertEquals("CN=client", served.result());
        }
    }

    private static byte[] randomBytes(int seed) {
        byte[] bytes = new byte[LENGTH];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    @Test
    void aWrongCertificateFailsAsOnTcp() throws Exception {
        TlsKeys keys = TlsKeys.make(directory.resolve("keys"), place().host());
        TlsKeys others = TlsKeys.make(directory.resolve("others"), place().host());
        List<String> tcp = failures(Transport.TCP, keys, others.client());
        List<String> said = failures(place().transport(), keys, others.client());
        assertTrue(said.get(0).startsWith("javax.net.ssl.SSLHandshakeException: (certificate_unknown) PKIX path "),
                said::toString);
        assertEquals(tcp.get(0), said.get(0));
        for (String server : List.of(tcp.get(1), said.get(1))) {
            // The client may have gone before the server has said all that it has to say.
            assertTrue(server.contains("Received fatal alert: certificate_unknown")
                    || server.matches("java.net.SocketException: (Broken pipe|Connection reset.*)"), server);
        }
    }

    /** The failures of client and server in a handshake. */
    private List<String> failures(Transport transport, TlsKeys keys, TlsKeys.Client client) throws Exception {
        try (Ends ends = new Ends(transport)) {
            Call<String> served = Call.start(ThreadKind.VIRTUAL, "serve", () -> {
                try (SSLSocket socket = ends.accept(keys)) {
                    return failure(socket);
                }
            });
            try (SSLSocket socket = ends.connect(client)) {
                return List.of(failure(socket), served.result());
            }
        }
    }

    private static String failure(SSLSocket socket) {
        try {
            socket.startHandshake();
            return "no failure";
        } catch (IOException e) {
            return e.toString();
        }
    }
}
