package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.interop.Program;

/** The settings of the choice of a transport, in processes that are started with them. */
class ChoiceSettingsTest {
    private static final String PROPERTY = "-Dorg.rdmasockets.transport";
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");

    @TempDir
    private Path directory;

    /** The output of a process with these options: how it connects to a plain TCP server, and what it listens on. */
    private static List<String> said(String... options) throws Exception {
        List<String> all = new ArrayList<>(List.of("-XX:TieredStopAtLevel=1"));
        all.addAll(List.of(options));
        try (ServerSocket server = new ServerSocket(0, 5, LOOPBACK);
                Program program = Program.java(all, Sockets.class.getName(), LOOPBACK.getHostAddress(),
                        Integer.toString(server.getLocalPort()))) {
            return program.awaitSuccess().lines().toList();
        }
    }

    @Test
    void thePropertyForces() throws Exception {
        List<String> said = said(PROPERTY + "=tcp");
        assertEquals("connect: tcp (-Dorg.rdmasockets.transport says so)", said.get(0));
        assertEquals("listen: tcp (listens over tcp alone: -Dorg.rdmasockets.transport says so)", said.get(1));
    }

    @Test
    void rulesChooseByAddressAndPort() throws Exception {
        Path rules = Files.writeString(directory.resolve("my.rules"), """
                sharedmemory 192.0.2.0/24 *
                tcp          127.0.0.1    1-65535
                """);
        List<String> said = said(PROPERTY + ".rules=" + rules);
        assertEquals("connect: tcp (the rule in " + rules + ":2 says so)", said.get(0));
        assertTrue(said.get(1).startsWith("listen: auto (listens over tcp, "), said::toString);
    }

    @Test
    void mistakesAreTold() throws Exception {
        Path rules = Files.writeString(directory.resolve("my.rules"), "tcp everywhere\n");
        for (String line : said(PROPERTY + ".rules=" + rules)) {
            assertTrue(line.contains(rules + ":1: 'tcp everywhere' is no rule"), line);
        }
        for (String line : said(PROPERTY + "=rdma")) {
            assertTrue(line.contains(PROPERTY + ": 'rdma' is no transport"), line);
        }
    }

    @Test
    void tcpCanBeForbidden() throws Exception {
        List<String> said = said(PROPERTY + ".fallback=never");
        assertTrue(said.get(0).startsWith("connect: java.net.ConnectException: "), said::toString);
        assertTrue(said.get(0).contains("-Dorg.rdmasockets.transport.fallback=never"), said::toString);
        assertTrue(said.get(0).contains("sharedmemory: ") && said.get(0).contains("ibverbs"), said::toString);
        assertTrue(!said.get(1).contains("tcp"), said::toString);
    }

    /** A SOCKS client begins with the version of its protocol (RFC 1928). */
    @Test
    void tcpHonoursSocksSettings() throws Exception {
        try (ServerSocket proxy = new ServerSocket(0, 5, LOOPBACK);
                Program program = Program.java(List.of("-XX:TieredStopAtLevel=1", "-DsocksProxyHost=127.0.0.1",
                        "-DsocksProxyPort=" + proxy.getLocalPort()), Sockets.class.getName(), "192.0.2.1", "80")) {
            proxy.setSoTimeout(60_000);
            try (Socket client = proxy.accept()) {
                assertEquals(5, client.getInputStream().read());
            }
            assertTrue(program.awaitSuccess().contains("SOCKS"), program::output);
        }
    }

    /** Says how it connects, and how it listens. */
    static final class Sockets {
        private Sockets() {
        }

        /**
         * Prints two lines.
         *
         * @param args address and port to connect to
         */
        public static void main(String[] args) {
            try (RdmaSocket socket = new RdmaSocket(args[0], Integer.parseInt(args[1]))) {
                System.out.println("connect: " + socket.getOption(RdmaSocketOptions.TRANSPORT));
            } catch (IOException e) {
                System.out.println("connect: " + e);
            }
            try (RdmaServerSocket server = new RdmaServerSocket(0)) {
                System.out.println("listen: " + server.getOption(RdmaSocketOptions.TRANSPORT));
            } catch (IOException e) {
                System.out.println("listen: " + e);
            }
        }
    }
}
