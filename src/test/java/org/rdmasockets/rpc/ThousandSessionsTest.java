package org.rdmasockets.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.slf4j.LoggerFactory;

/** A server in a JVM of its own has one socket for a thousand clients, and little memory for each. */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class ThousandSessionsTest {
    /** Those that came first have loaded classes and made what all share. */
    private static final int FIRST = 50;
    private static final long MOST_BYTES = 16 << 10;
    private static final long MOST_DESCRIPTORS = 2;
    private static final byte[] PING = new byte[64];

    private final List<RpcClient> clients = new ArrayList<>();
    /** Sockets that clients have made, one for each of their sessions. */
    private final AtomicInteger made = new AtomicInteger();
    private Process server;

    /** Serves until its input ends; says its port, and what it holds when asked. */
    public static final class Server {
        private Server() {
        }

        /** Arguments: whether the socket is plain UDP, and the address to listen at. */
        public static void main(String[] arguments) throws Exception {
            RpcServer.Builder builder = RpcServer.builder().unary("echo", (request, call) -> request);
            if (Boolean.parseBoolean(arguments[0])) {
                builder.datagrams(DatagramSocket::new);
            } else {
                builder.datagrams();
            }
            RpcServer server = builder.listen(new InetSocketAddress(InetAddress.getByName(arguments[1]), 0));
            LoggerFactory.getLogger(Server.class).isInfoEnabled(); // its jar takes a descriptor
            System.out.println(server.localAddress().getPort());
            BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                System.out.println(order.equals("heap") ? heap() : new File("/proc/self/fd").list().length);
            }
            System.exit(0);
        }

        /** Bytes that are reachable: the least of some collections, for references are cleared one after the other. */
        private static long heap() {
            long least = Long.MAX_VALUE;
            for (int i = 0; i < 5; i++) {
                System.gc();
                least = Math.min(least, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
            }
            return least;
        }
    }

    @AfterEach
    void closeAll() {
        clients.forEach(RpcClient::close);
        if (server != null) { // none where the device has no datagrams
            server.destroyForcibly();
        }
    }

    /** Sessions beside the first ones. */
    int sessions() {
        return 1000;
    }

    /** Where the server listens. */
    InetAddress address() {
        return InetAddress.getLoopbackAddress();
    }

    /** Options of the server's JVM. */
    List<String> options() {
        return List.of();
    }

    /** After the last call, while all sessions stand. */
    void check(Process serving, List<RpcClient> all) throws Exception {
        // Descriptors tell enough.
    }

    private void connect(InetSocketAddress address, boolean plain) throws IOException {
        RpcClient client = RpcClient.builder().datagrams(local -> {
            made.incrementAndGet();
            return plain ? new DatagramSocket(local) : new RdmaDatagramSocket(local);
        }).connect(address);
        clients.add(client);
        for (int i = 0; i < 5; i++) {
            assertArrayEquals(PING, client.call("echo", PING));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void sessionsHaveOneSocketAndAtMostSixteenKibibytesEach(boolean plain) throws Exception {
        List<String> all = new ArrayList<>(options());
        all.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC"));
        server = ChildJvm.start(List.of(), all, Server.class, Boolean.toString(plain), address().getHostAddress());
        BufferedReader answers = server.inputReader();
        PrintStream orders = new PrintStream(server.getOutputStream(), true, StandardCharsets.UTF_8);
        InetSocketAddress address = new InetSocketAddress(address(),
                Integer.parseInt(answers.readLine()));
        for (int i = 0; i < FIRST; i++) {
            connect(address, plain);
        }
        long descriptors = ask(orders, answers, "descriptors");
        long heap = ask(orders, answers, "heap");
        for (int i = 0; i < sessions(); i++) {
            connect(address, plain);
        }
        long each = (ask(orders, answers, "heap") - heap) / sessions();
        System.out.println("the server's heap for each of " + sessions() + " sessions over "
                + clients.getFirst().transport() + ": " + each + " bytes");
        assertTrue(each <= MOST_BYTES, each + " bytes for each session");
        long more = ask(orders, answers, "descriptors") - descriptors;
        assertTrue(more <= MOST_DESCRIPTORS, more + " descriptors more"); // a busy moment may take memory, say
        for (RpcClient client : clients) {
            assertArrayEquals(PING, client.call("echo", PING));
        }
        assertEquals(clients.size(), made.get(), "each client has its first session yet");
        check(server, clients);
    }

    private static long ask(PrintStream orders, BufferedReader answers, String what) throws IOException {
        orders.println(what);
        return Long.parseLong(answers.readLine());
    }
}
