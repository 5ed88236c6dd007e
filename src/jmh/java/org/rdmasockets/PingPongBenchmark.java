package org.rdmasockets;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How long does a round trip between two virtual threads of one process take with RdmaSocket, and with
 * {@code java.net.Socket}, on one address? {@code -p transport=ibverbs} needs that of an RDMA device.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(value = 1, jvmArgsAppend = {"-Djmh.executor=VIRTUAL", "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow"})
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class PingPongBenchmark {
    /** The carrier of the bytes: {@code java.net.Socket}, or a transport of RdmaSocket. */
    @Param({PingPong.PLAIN, "sharedmemory"})
    public String transport;

    /** Size of the message there and of the message back. */
    @Param({"64", "4096", "65536"})
    public int bytes;

    private PingPong ends;

    /** Connects the two ends. */
    @Setup
    public void connect() throws IOException {
        ends = new PingPong(transport, bytes, socket -> { });
    }

    /** Ends both. */
    @TearDown
    public void disconnect() throws IOException {
        ends.close();
    }

    /** One message there and back. */
    @Benchmark
    public byte[] roundTrip() throws IOException {
        return ends.roundTrip();
    }
}
