package org.rdmasockets.contract;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Deque;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Close, interrupt, timeout, shutdown and the peer against every operation that blocks, in random order: everything
 * ends, with an exception that {@code java.net} knows, and nothing is left. Two properties repeat a failure:
 * {@code org.rdmasockets.test.seed} and {@code org.rdmasockets.test.interleavings}, the number of them.
 */
@Isolated
public abstract class InterleavingContract implements SocketFixture.Keeper {
    /** Property with the number of interleavings. */
    protected static final String COUNT = "org.rdmasockets.test.interleavings";

    private static final String SEED = "org.rdmasockets.test.seed";
    private static final int WARM_UP = 30;
    /** Descriptors that the JDK and the library open at first use, and keep. */
    private static final long SPARE_DESCRIPTORS = 8;
    /** Threads that the library may keep. */
    private static final long SPARE_THREADS = 4;
    /** A line of a thread dump; both kinds of threads are in it. */
    private static final Pattern OURS = Pattern.compile("#\\d+ \"(rdma-|interleaved ).*");

    private final Deque<AutoCloseable> kept = new ConcurrentLinkedDeque<>();

    /**
     * The family that is tried.
     *
     * @return its fixture
     */
    protected abstract SocketFixture fixture();

    /**
     * The resources of connections besides descriptors and threads.
     *
     * @return numbers by name
     * @throws IOException if they cannot be told
     */
    protected abstract Map<String, Long> holdings() throws IOException;

    /**
     * The resources of connections, for the message of a failure.
     *
     * @return numbers, or more
     * @throws IOException if it cannot be told
     */
    protected String heldText() throws IOException {
        return holdings().toString();
    }

    /**
     * How many interleavings to try.
     *
     * @return a number
     */
    protected int count() {
        return Integer.getInteger(COUNT, 1000);
    }

    @Override
    public final <C extends AutoCloseable> C keep(C resource) {
        kept.push(resource);
        return resource;
    }

    @AfterEach
    final void closeAll() throws Exception {
        while (!kept.isEmpty()) {
            kept.pop().close();
        }
    }

    @Test
    @Timeout(value = 1800, unit = TimeUnit.SECONDS)
    void whateverComesTogetherEverythingEndsAndNothingIsLeft() throws Exception {
        long seed = Long.getLong(SEED, System.nanoTime());
        InetSocketAddress silent = fixture().whyNot(SocketFixture.Ability.SILENT_DESTINATION).isPresent() ? null
                : fixture().silentDestination(this);
        Map<String, Long> heldAtFirst = holdings();
        run(seed - WARM_UP, WARM_UP, silent);
        long descriptors = descriptors();
        long threads = threads();
        run(seed, count(), silent);
        Await.until("connections hold no more than " + heldAtFirst, () -> isNoMore(holdings(), heldAtFirst),
                this::heldText);
        Await.until("there are at most " + (descriptors + SPARE_DESCRIPTORS) + " descriptors",
                () -> descriptors() <= descriptors + SPARE_DESCRIPTORS, InterleavingContract::descriptors);
        Await.until("there are at most " + (threads + SPARE_THREADS) + " threads",
                () -> threads() <= threads + SPARE_THREADS, InterleavingContract::threads);
        System.out.println(getClass().getSimpleName() + ": " + count() + " interleavings from seed " + seed);
    }

    private void run(long seed, int count, InetSocketAddress silent) {
        for (int i = 0; i < count; i++) {
            Interleaving interleaving = new Interleaving(fixture(), silent, new Random(seed + i));
            try {
                interleaving.run();
            } catch (Exception | Error e) {
                throw new AssertionError(interleaving + " failed; repeat it with -D" + SEED + "=" + (seed + i) + " -D"
                        + COUNT + "=1", e);
            }
        }
    }

    private static boolean isNoMore(Map<String, Long> now, Map<String, Long> before) {
        return now.entrySet().stream().allMatch(each -> each.getValue() <= before.get(each.getKey()));
    }

    private static long descriptors() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.count();
        }
    }

    /** Of the library and of the trials, virtual ones included. */
    private static long threads() throws IOException {
        Path dump = Files.createTempDirectory("interleavings").resolve("threads");
        try {
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpThreads(dump.toString(),
                    ThreadDumpFormat.TEXT_PLAIN);
            try (Stream<String> lines = Files.lines(dump)) {
                return lines.filter(line -> OURS.matcher(line).matches()).count();
            }
        } finally {
            Files.delete(dump);
            Files.delete(dump.getParent());
        }
    }
}
