package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.StreamKind;
import org.rdmasockets.interop.Program;

/** A process ends without closing its sockets: its peer reads all that was written, then the end of the stream. */
@Timeout(600)
abstract class ProcessExitContract {
    private static final int BYTES = 50_000;

    /** The stream kinds, and first of all {@code java.net.Socket}, which is right. */
    static Stream<String> kinds() {
        return Stream.concat(Stream.of("java"), Stream.of(StreamKind.values()).map(StreamKind::name));
    }

    /** Where the connections go. */
    abstract InetAddress address();

    /** Further options of the child. */
    abstract List<String> options();

    @ParameterizedTest
    @MethodSource("kinds")
    void aProcessThatReturnsFromMainEndsItsStreams(String kind) throws Exception {
        endsInOrder("returns", kind);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aProcessThatExitsEndsItsStreams(String kind) throws Exception {
        endsInOrder("exits", kind);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aFirstSocketInAShutdownHookWorks(String kind) throws Exception {
        endsInOrder("firstInHook", kind);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aShutdownHookGoesOnWithAnOpenSocket(String kind) throws Exception {
        endsInOrder("writesInHook", kind);
    }

    private void endsInOrder(String way, String kind) throws Exception {
        try (ServerSocket server = listen(kind); Program child = start(way, server, kind, 2_000);
                Socket socket = server.accept()) {
            int count = 0;
            for (; socket.getInputStream().read() >= 0; count++) {
                if (way.equals("writesInHook") && count >= BYTES / 2 && count % ExitMain.ANSWERED == 0) {
                    socket.getOutputStream().write(0);
                }
            }
            assertEquals(BYTES, count, child::output);
            assertEquals(0, child.awaitEnd(), child::output);
            assertFalse(child.output().contains("failed"), child::output);
        }
    }

    /** A wait in vain would last an hour. */
    @ParameterizedTest
    @MethodSource("kinds")
    void aProcessWhosePeerHasClosedEndsAtOnce(String kind) throws Exception {
        try (ServerSocket server = listen(kind); Program child = start("outlivesPeer", server, kind, 3_600_000)) {
            try (Socket socket = server.accept()) {
                socket.getInputStream().readNBytes(BYTES);
            }
            assertEquals(0, child.awaitEnd(), child::output);
        }
    }

    private ServerSocket listen(String kind) throws Exception {
        if (kind.equals("java")) {
            return new ServerSocket(0, 50, address());
        }
        RdmaServerSocket server = new RdmaServerSocket();
        server.setOption(RdmaSocketOptions.STREAM_KIND, StreamKind.valueOf(kind));
        server.bind(new InetSocketAddress(address(), 0));
        return server;
    }

    private Program start(String way, ServerSocket server, String kind, int exitMillis) throws Exception {
        List<String> options = new ArrayList<>(options());
        options.add("-XX:TieredStopAtLevel=1");
        options.add("-Dorg.rdmasockets.exitWait=" + exitMillis);
        return Program.java(options, ExitMain.class.getName(), way, address().getHostAddress(),
                Integer.toString(server.getLocalPort()), kind, Integer.toString(BYTES));
    }
}
