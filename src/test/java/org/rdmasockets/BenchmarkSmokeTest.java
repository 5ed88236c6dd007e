package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs the benchmarks for a moment, so that they cannot rot. */
class BenchmarkSmokeTest {
    @ParameterizedTest
    @ValueSource(strings = {"java.net.Socket", "tcp", "sharedmemory"})
    void pingPongRunsWithoutADevice(String transport) throws RunnerException {
        runPingPong(transport);
    }

    @Test
    @Tag("device")
    void pingPongRunsOverRdma() throws RunnerException {
        runPingPong("ibverbs");
    }

    private static void runPingPong(String transport) throws RunnerException {
        Options moment = new OptionsBuilder().include(PingPongBenchmark.class.getName()).param("transport", transport)
                .param("bytes", "64").forks(0).warmupIterations(0).measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(200)).shouldFailOnError(true).verbosity(VerboseMode.SILENT)
                .build();
        assertFalse(new Runner(moment).run().isEmpty(), "no benchmark matched");
    }
}
