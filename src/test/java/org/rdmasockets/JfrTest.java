package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Flight recorder shows the reads and writes of buffers as it shows those of streams. */
@Timeout(120)
class JfrTest {
    private static final int LARGE = 200_000;

    @TempDir
    private Path folder;

    /** A write of so many bytes, and a read of as many. */
    private record Trial(String name, int bytes, Transfer write, Transfer read) {
    }

    /** Moves bytes. */
    private interface Transfer {
        void run(RdmaSocket socket, int bytes) throws IOException;
    }

    private static Stream<Transport> transports() {
        return Stream.of(Transport.SHARED_MEMORY, Transport.TCP);
    }

    private static List<Trial> trials() {
        return List.of(
                new Trial("streams", 1, (socket, bytes) -> socket.getOutputStream().write(new byte[bytes]),
                        (socket, bytes) -> socket.getInputStream().readNBytes(bytes)),
                new Trial("arrays", 2, (socket, bytes) -> socket.write(ByteBuffer.allocate(bytes)),
                        (socket, bytes) -> fill(socket, ByteBuffer.allocate(bytes))),
                new Trial("direct buffers", 3, (socket, bytes) -> socket.write(ByteBuffer.allocateDirect(bytes)),
                        (socket, bytes) -> fill(socket, ByteBuffer.allocateDirect(bytes))),
                new Trial("large direct buffers", LARGE,
                        (socket, bytes) -> socket.write(ByteBuffer.allocateDirect(bytes)),
                        (socket, bytes) -> fill(socket, ByteBuffer.allocateDirect(bytes))),
                new Trial("several buffers", 5,
                        (socket, bytes) -> socket.write(new ByteBuffer[] {ByteBuffer.allocate(2),
                            ByteBuffer.allocateDirect(bytes - 2)}),
                        (socket, bytes) -> fill(socket, ByteBuffer.allocate(bytes))),
                new Trial("segments", 6, (socket, bytes) -> {
                    try (Arena arena = Arena.ofConfined()) {
                        socket.write(arena.allocate(bytes));
                    }
                }, JfrTest::fillSegment),
                new Trial("registered buffers", 7, (socket, bytes) -> {
                    try (RdmaBuffer buffer = socket.allocateBuffer(bytes)) {
                        socket.write(buffer, 0, bytes);
                    }
                }, JfrTest::receive));
    }

    private static void fill(RdmaSocket socket, ByteBuffer to) throws IOException {
        while (to.hasRemaining()) {
            socket.read(to);
        }
    }

    private static void fillSegment(RdmaSocket socket, int bytes) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment to = arena.allocate(bytes);
            for (long done = 0; done < bytes;) {
                done += socket.read(to.asSlice(done));
            }
        }
    }

    private static void receive(RdmaSocket socket, int bytes) throws IOException {
        for (long done = 0; done < bytes;) {
            try (ReceivedBytes received = socket.receive()) {
                done += received.segment().byteSize();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("transports")
    void everyKindOfTransferMakesTheEventsOfAStream(Transport transport) throws Exception {
        try (RdmaServerSocket server = new RdmaServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"));
                RdmaSocket client = new RdmaSocket()) {
            client.setOption(RdmaSocketOptions.TRANSPORT, transport);
            client.connect(server.getLocalSocketAddress());
            try (RdmaSocket accepted = server.accept()) {
                for (Trial trial : trials()) {
                    // Over TCP a stream makes them twice: its own, and those of the socket of TCP.
                    if (!trial.name.equals("streams") || !transport.is(Transport.TCP)) {
                        record(trial, client, accepted);
                    }
                }
                assertEndIsRecorded(client, accepted);
            }
        }
    }

    private void record(Trial trial, RdmaSocket client, RdmaSocket accepted) throws IOException {
        List<RecordedEvent> events = recorded(() -> {
            Thread writer = Thread.ofPlatform().start(() -> {
                try {
                    trial.write.run(client, trial.bytes);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            trial.read.run(accepted, trial.bytes);
            join(writer);
        });
        assertEquals(trial.bytes, sum(events, "jdk.SocketWrite", "bytesWritten", client.getPort()), trial::name);
        assertEquals(trial.bytes, sum(events, "jdk.SocketRead", "bytesRead", accepted.getPort()), trial::name);
    }

    private void assertEndIsRecorded(RdmaSocket client, RdmaSocket accepted) throws IOException {
        client.shutdownOutput();
        List<RecordedEvent> events = recorded(() -> {
            assertEquals(-1, accepted.read(ByteBuffer.allocateDirect(1)));
            assertNull(accepted.receive());
        });
        assertEquals(2, events.stream().filter(event -> event.getEventType().getName().equals("jdk.SocketRead")
                && event.getInt("port") == accepted.getPort() && event.getBoolean("endOfStream")).count());
    }

    private static void join(Thread writer) {
        try {
            writer.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static long sum(List<RecordedEvent> events, String name, String bytes, int port) {
        return events.stream().filter(event -> event.getEventType().getName().equals(name)
                && event.getInt("port") == port).mapToLong(event -> event.getLong(bytes)).sum();
    }

    /** Work that may fail. */
    private interface Work {
        void run() throws IOException;
    }

    private List<RecordedEvent> recorded(Work work) throws IOException {
        Path file = folder.resolve("recording.jfr");
        try (Recording recording = new Recording()) {
            for (String name : new String[] {"jdk.SocketRead", "jdk.SocketWrite"}) {
                recording.enable(name).withThreshold(Duration.ZERO).with("throttle", "off");
            }
            recording.start();
            work.run();
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        Files.delete(file);
        return events;
    }
}
