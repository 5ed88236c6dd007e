package org.rdmasockets.layers;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.waiting.Role;
import org.rdmasockets.internal.waiting.WaitResult;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.ReceiveRequest;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;

/**
 * How much of the time of one message, written at one end and read at the other, is spent on each floor? See the
 * package; {@code docs/benchmarks/where-the-time-goes.md} has the answer. The difference of two floors is what the
 * upper one costs. The median is what counts: others on the machine move the mean.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(value = 3, jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"})
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class LayersBenchmark {
    /** The floor on top. */
    public enum Floor {
        /** The bytes are copied in and out, and nothing else is done. */
        COPY,
        /** A write with immediate data, its completion, and receives that are posted again. */
        VERBS,
        /** The protocol: chunks, credits, what is outstanding. */
        STREAM,
        /** The inbox: locks, and completions on their way through it; polling by the reader. */
        COMPLETION,
        /** RdmaSocket: its streams, locks and states. */
        SOCKET
    }

    /** The floor on top. */
    @Param
    public Floor floor;

    /** Size of the message. */
    @Param({"64", "65536"})
    public int bytes;

    private static final int SIGNALLED = 15;
    private static final int RECEIVES = 8;

    private byte[] message;
    private byte[] copy;
    private Connected connected;
    private ServerSocket listener;
    private Socket from;
    private Socket to;
    private final SendRequest send = new SendRequest(1);
    private final ReceiveRequest receive = new ReceiveRequest(1);
    private long firstReceive;
    private int sent;
    private int received;

    /** Builds the house up to the floor. */
    @Setup(Level.Trial)
    public void connect() throws IOException {
        message = new byte[bytes];
        copy = new byte[bytes];
        if (floor != Floor.SOCKET) {
            connected = new Connected(floor == Floor.COMPLETION, floor.ordinal() > Floor.VERBS.ordinal());
            return;
        }
        try (Replacement _ = new Replacement(new SharedMemoryProvider())) {
            listener = new RdmaServerSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        }
        try (Replacement _ = new Replacement(new SharedMemoryProvider())) {
            from = new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
            from.connect(listener.getLocalSocketAddress());
        }
        to = listener.accept();
    }

    /** Takes it down. */
    @TearDown(Level.Trial)
    public void disconnect() throws IOException {
        if (connected != null) {
            connected.close();
        } else {
            from.close();
            to.close();
            listener.close();
        }
    }

    /** One message, written and read. */
    @Benchmark
    public byte[] message() throws IOException {
        switch (floor) {
            case COPY -> copies();
            case VERBS -> verbs();
            case STREAM -> stream();
            case COMPLETION -> completion();
            case SOCKET -> {
                from.getOutputStream().write(message);
                to.getInputStream().readNBytes(copy, 0, bytes);
            }
        }
        return copy;
    }

    private void copies() {
        MemorySegment ring = connected.server.ring.segment();
        MemorySegment.copy(message, 0, ring, ValueLayout.JAVA_BYTE, 0, bytes);
        MemorySegment.copy(ring, ValueLayout.JAVA_BYTE, 0, copy, 0, bytes);
    }

    private void verbs() throws VerbsException {
        End client = connected.client;
        End server = connected.server;
        send.write(sent, server.ring.address(), server.ring.remoteKey()).immediate(bytes).bytes(message, 0, bytes);
        if (++sent % SIGNALLED == 0) {
            send.signalled();
        }
        posted(client.queuePair.postSend(send));
        if (sent % SIGNALLED == 0) {
            client.queue.poll(client.batch);
        }
        while (server.queue.poll(server.batch) == 0) {
            Thread.onSpinWait();
        }
        // The stream has posted them in turn, and a turn is a multiple of these.
        firstReceive = received == 0 ? server.batch.workRequestId(0) : firstReceive;
        if (++received == RECEIVES) {
            received = 0;
            posted(server.queuePair.postReceives(receive.receive(0), firstReceive, RECEIVES));
        }
        MemorySegment.copy(server.ring.segment(), ValueLayout.JAVA_BYTE, 0, copy, 0, bytes);
    }

    private static void posted(int result) {
        if (result != QueuePair.POSTED) {
            throw new IllegalStateException("refused: " + result);
        }
    }

    /** Both ends take turns: the first ring is smaller than a large message. */
    private void stream() throws IOException {
        End client = connected.client;
        End server = connected.server;
        int written = 0;
        for (int read = 0; read < bytes;) {
            int more = written == bytes ? 0 : client.stream.write(message, written, bytes - written);
            written += more;
            if (more == 0 && written < bytes) {
                client.poll();
            }
            int less = server.stream.read(copy, read, bytes - read);
            read += less;
            if (less == 0) {
                server.poll();
            }
        }
    }

    private void completion() throws IOException {
        int written = 0;
        for (int read = 0; read < bytes;) {
            written += written == bytes ? 0 : transfer(connected.client, Role.WRITER, written, read == written);
            read += transfer(connected.server, Role.READER, read, written > read);
        }
    }

    /** Does the work of the transport, without its bookkeeping. */
    private int transfer(End end, Role role, int done, boolean waits) throws IOException {
        int count;
        end.inbox.enter();
        try {
            count = role == Role.READER ? end.stream.read(copy, done, bytes - done)
                    : end.stream.write(message, done, bytes - done);
        } finally {
            end.inbox.exit();
        }
        if (count == 0 && waits && end.inbox.await(role, Long.MAX_VALUE) != WaitResult.READY) {
            throw new IllegalStateException("closed");
        }
        return count;
    }
}
