package org.rdmasockets;

import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How many bytes does a message allocate, its write and its read together, in all threads? The figure is
 * {@code gc.alloc.rate.norm} of the profiler {@code gc}; {@code src/jmh/run garbage} asks for it. Both ends are virtual
 * threads whose stacks are ours alone: when one parks below frames of JMH, which are interpreted, the JDK makes memory
 * for its stack anew each time.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(value = 1, jvmArgsAppend = {"-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED"})
@Warmup(iterations = 3, time = 5)
@Measurement(iterations = 5, time = 2)
public class GarbageBenchmark {
    /** The carrier of the bytes: {@code java.net.Socket}, or a transport of RdmaSocket. */
    @Param({PingPong.PLAIN, "sharedmemory"})
    public String transport;

    /** How the reads wait. */
    @Param
    public Waiting waiting;

    private static final int ROUND_TRIPS = 10_000;

    private PingPong ends;

    /** How a read waits for a message that is not there yet. */
    public enum Waiting {
        /** Long enough for the answer to come. */
        SPIN(1_000, 0),
        /** Not at all: it parks. */
        PARK(0, 0),
        /** Likewise, with {@code SO_TIMEOUT}. */
        PARK_WITH_TIMEOUT(0, 60_000);

        private final int spinMicros;
        private final int timeoutMillis;

        Waiting(int spinMicros, int timeoutMillis) {
            this.spinMicros = spinMicros;
            this.timeoutMillis = timeoutMillis;
        }

        private void apply(Socket socket) throws IOException {
            if (socket instanceof RdmaSocket) {
                socket.setOption(RdmaSocketOptions.SPIN_MICROS, spinMicros);
            }
            socket.setSoTimeout(timeoutMillis);
        }
    }

    /** Connects the two ends. */
    @Setup
    public void connect() throws IOException {
        ends = new PingPong(transport, 64, waiting::apply);
    }

    /** Ends both. */
    @TearDown
    public void disconnect() throws IOException {
        ends.close();
    }

    /** Messages there and back: each is written once and waited for once. */
    @Benchmark
    @OperationsPerInvocation(2 * ROUND_TRIPS)
    public boolean messages() throws Exception {
        FutureTask<Boolean> all = new FutureTask<>(this::exchange);
        Thread.startVirtualThread(all);
        return all.get();
    }

    private boolean exchange() throws IOException {
        for (int i = 0; i < ROUND_TRIPS; i++) {
            ends.roundTrip();
        }
        return true;
    }
}
