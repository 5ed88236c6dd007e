package org.rdmasockets.benchmark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** How busy others keep the processors: looked at while nothing of ours runs. */
final class OtherLoad {
    private static final long SAMPLE_MILLIS = 200;
    /** Columns of the first line of {@code /proc/stat} that count idle time: idle, and waiting for input or output. */
    private static final int IDLE = 4;
    private static final int WAITING = 5;
    /** Later columns are parts of earlier ones. */
    private static final int LAST = 8;

    private final List<Double> samples = new ArrayList<>();

    /** Takes a sample. */
    void sample() throws IOException, InterruptedException {
        long[] before = ticks();
        TimeUnit.MILLISECONDS.sleep(SAMPLE_MILLIS);
        long[] after = ticks();
        samples.add(100.0 * (after[0] - before[0]) / Math.max(1, after[1] - before[1]));
    }

    /** The median, in percent of all processors. */
    double percent() {
        return samples.isEmpty() ? 0 : Series.median(samples);
    }

    /** Busy ones, and all. */
    private static long[] ticks() throws IOException {
        String[] columns = Files.readAllLines(Path.of("/proc/stat")).getFirst().split(" +");
        long all = 0;
        for (int i = 1; i <= LAST; i++) {
            all += Long.parseLong(columns[i]);
        }
        return new long[] {all - Long.parseLong(columns[IDLE]) - Long.parseLong(columns[WAITING]), all};
    }
}
