package org.rdmasockets.fault;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.rdmasockets.interop.Program;
import org.rdmasockets.interop.QueuePairTable;
import org.rdmasockets.interop.TestBed;

/**
 * Random traffic for a long time. Watches that nothing is lost and nothing grows, and ends with the device's own
 * counters. See {@code src/test/guest/soak}.
 */
final class Soak {
    private static final int CONNECTIONS = 4;
    private static final int REPORTS = 20;

    /** Allowed growth of heap and compilers after the first quarter of the time; the heap is limited on start. */
    private static final long RESIDENT_SLACK_MEGABYTES = 64;
    private static final long DESCRIPTOR_SLACK = 4;

    /** Counters of rxe that show mistakes with credits, and how much of them is near zero. */
    private static final List<String> WATCHED = List.of("rcvd_rnr_err", "send_rnr_err", "retry_exceeded_err",
            "retry_rnr_exceeded_err", "rcvd_seq_err", "out_of_seq_request");
    private static final long WATCHED_SLACK = 20;
    /**
     * Counters of rxe that grow whenever its acknowledgement timer fires, which it does by itself on a busy machine:
     * four rstreams of C at once bring 17 and 149 for a million packets.
     */
    private static final Map<String, Long> MOST_PER_MILLION = Map.of("completer_retry_err", 50L,
            "duplicate_request", 500L);

    private static final Pattern COUNTER = Pattern.compile("(\\w+) (\\d+)");

    /** The resources that this process has now. */
    private record Sample(long residentMegabytes, long descriptors, long queuePairs) {
        private static Sample take() throws IOException, InterruptedException {
            long kilobytes = Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).findFirst().orElseThrow();
            try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
                return new Sample(kilobytes / 1024, descriptors.count(), countQueuePairs());
            }
        }

        private static long countQueuePairs() throws IOException, InterruptedException {
            return TestBed.tcp() ? 0 : QueuePairTable.read().stream()
                    .filter(e -> e.device().equals(TestBed.device()) && e.type().equals("RC")).count();
        }

        @Override
        public String toString() {
            return residentMegabytes + " MB resident, " + descriptors + " descriptors, " + queuePairs + " queue pairs";
        }
    }

    private final long seconds;
    private final List<String> complaints = new ArrayList<>();

    private Soak(long seconds) {
        this.seconds = seconds;
    }

    /**
     * Runs and prints; the exit status is 0 if nothing was lost and nothing grew.
     *
     * @param arguments how long, in seconds
     */
    static void main(String[] arguments) throws Exception {
        Soak soak = new Soak(Long.parseLong(arguments[0]));
        soak.run();
        soak.complaints.forEach(complaint -> System.out.println("FAILED: " + complaint));
        System.out.println(soak.complaints.isEmpty() ? "nothing lost, nothing grown" : "the soak failed");
        System.exit(soak.complaints.isEmpty() ? 0 : 1);
    }

    private void run() throws IOException, InterruptedException {
        Map<String, Long> countersBefore = readCounters();
        try (ServerSocket server = TestBed.listen()) {
            Sample before = Sample.take();
            System.out.println("before: " + before);
            SoakTraffic traffic = new SoakTraffic(server, CONNECTIONS,
                    System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds));
            Sample early = watch(traffic);
            complaints.addAll(traffic.awaitEnd());
            Sample late = awaitQuiet(before);
            System.out.println("after: " + late + "; " + traffic);
            compare(before, early, late);
        }
        printCounters(countersBefore);
    }

    /** Reports now and then; what there was after a quarter of the time. */
    private Sample watch(SoakTraffic traffic) throws IOException, InterruptedException {
        long start = System.nanoTime();
        Sample early = null;
        for (int i = 1; i < REPORTS && traffic.isHealthy(); i++) {
            TimeUnit.NANOSECONDS.sleep(start + i * TimeUnit.SECONDS.toNanos(seconds) / REPORTS - System.nanoTime());
            Sample sample = Sample.take();
            System.out.println(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) + " s: " + sample + "; "
                    + traffic);
            if (i <= REPORTS / 4) {
                early = sample;
            }
        }
        return early;
    }

    /** Closed connections deliver in the background; they may take a while. */
    private static Sample awaitQuiet(Sample before) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TestBed.PATIENCE_MILLIS);
        Sample sample = Sample.take();
        while (sample.queuePairs() > before.queuePairs() && System.nanoTime() < deadline) {
            sample = Sample.take();
        }
        return sample;
    }

    private void compare(Sample before, Sample early, Sample late) {
        check(late.queuePairs() == before.queuePairs(), "queue pairs are left over");
        check(late.descriptors() <= before.descriptors() + DESCRIPTOR_SLACK, "descriptors are left over");
        check(early == null || late.residentMegabytes() <= early.residentMegabytes() + RESIDENT_SLACK_MEGABYTES,
                "the process has grown since a quarter of the time");
    }

    private void check(boolean condition, String otherwise) {
        if (!condition) {
            complaints.add(otherwise);
        }
    }

    /** The device's counters; siw has none. */
    private static Map<String, Long> readCounters() throws IOException, InterruptedException {
        Map<String, Long> counters = new TreeMap<>();
        if (!TestBed.tcp() && !TestBed.iwarp()) {
            try (Program rdma = Program.start("rdma", "statistic", "show", "link", TestBed.device() + "/1")) {
                Matcher matcher = COUNTER.matcher(rdma.awaitSuccess());
                while (matcher.find()) {
                    counters.put(matcher.group(1), Long.parseLong(matcher.group(2)));
                }
            }
        }
        return counters;
    }

    private void printCounters(Map<String, Long> before) throws IOException, InterruptedException {
        Map<String, Long> growth = new TreeMap<>();
        readCounters().forEach((name, value) -> growth.put(name, value - before.getOrDefault(name, 0L)));
        long packets = growth.getOrDefault("rcvd_pkts", 0L);
        growth.forEach((name, count) -> {
            System.out.println("  " + name + " " + count);
            check(!WATCHED.contains(name) || count <= WATCHED_SLACK, name + " is not near zero");
            Long most = MOST_PER_MILLION.get(name);
            check(most == null || count <= WATCHED_SLACK + most * packets / 1_000_000,
                    name + " is beyond what the device does by itself");
        });
    }
}
