package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** A recording tells which transport each connection has, why, and how it failed; without one nothing is used. */
@Timeout(120)
class FlightRecordingTest {
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    @TempDir
    private Path folder;

    /** Connects without a recording. */
    public static final class Main {
        private Main() {
        }

        /** Exchanges a byte. */
        public static void main(String[] arguments) throws IOException {
            echo();
        }
    }

    private static int echo() throws IOException {
        try (RdmaServerSocket server = new RdmaServerSocket(0, 1, LOOPBACK);
                RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort());
                Socket accepted = server.accept()) {
            client.getOutputStream().write(7);
            assertEquals(7, accepted.getInputStream().read());
            return server.getLocalPort();
        }
    }

    private static RecordedEvent one(List<RecordedEvent> all, String name, int port, String transport) {
        List<RecordedEvent> found = all.stream()
                .filter(e -> e.getEventType().getName().equals("org.rdmasockets." + name)
                        && transport.equals(e.getString("transport"))
                        && (e.getString("remote") + e.getString("local") + ":").contains(":" + port)).toList();
        assertEquals(1, found.size(), () -> name + " over " + transport + " in " + all);
        return found.getFirst();
    }

    @Test
    void aRecordingTellsTransportsAndReasons() throws Exception {
        int shared;
        int tcp;
        int refused;
        try (Recording recording = new Recording()) {
            recording.start();
            shared = echo();
            try (ServerSocket server = new ServerSocket(0, 1, LOOPBACK);
                    RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort())) {
                tcp = server.getLocalPort();
                assertEquals("tcp", client.getOption(RdmaSocketOptions.TRANSPORT).name());
            }
            refused = tcp;
            try (RdmaSocket client = new RdmaSocket()) {
                assertThrows(ConnectException.class, () -> client.connect(new InetSocketAddress(LOOPBACK, refused)));
            }
            recording.stop();
            recording.dump(folder.resolve("recording.jfr"));
        }
        List<RecordedEvent> all = RecordingFile.readAllEvents(folder.resolve("recording.jfr")).stream()
                .filter(e -> e.getEventType().getName().startsWith("org.rdmasockets.")).toList();
        RecordedEvent connect = one(all, "Connect", shared, "sharedmemory");
        assertEquals("it is the first choice", connect.getString("reason"));
        assertTrue(connect.getDuration().isPositive());
        one(all, "Accept", shared, "sharedmemory");
        String reason = one(all, "Connect", tcp, "tcp").getString("reason");
        assertTrue(reason.contains("sharedmemory: Connection refused"), reason);
        assertTrue(all.stream().anyMatch(e -> e.getEventType().getName().equals("org.rdmasockets.TransportPassedOver")
                && "sharedmemory".equals(e.getString("transport")) && e.getString("remote").endsWith(":" + tcp)));
        assertTrue(all.stream().anyMatch(e -> e.hasField("failure") && e.getString("failure") != null
                && e.getString("failure").contains("Connection refused")));
    }

    /** The classes themselves may be read ahead, from a folder, but they are not used. */
    @Test
    void withoutARecordingNoEventIsUsed() throws Exception {
        String said = ChildJvm.run(List.of(), List.of("--enable-native-access=ALL-UNNAMED",
                "-Xlog:class+init:stdout"), Main.class);
        assertTrue(said.contains("Initializing 'org/rdmasockets/internal/connection/FlightEvents'"), said);
        assertFalse(said.contains("Initializing 'org/rdmasockets/internal/connection/FlightEvents$"), said);
        assertFalse(said.contains("Initializing 'jdk/jfr/Event'"), said);
    }
}
