package org.rdmasockets.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import org.rdmasockets.Transport;
import org.rdmasockets.TransportCounters;
import org.rdmasockets.TransportsMXBean;
import org.rdmasockets.internal.connection.TransportStatistics;
import org.rdmasockets.internal.socket.TransportsBean;

/**
 * Binds the counters of {@link TransportCounters} to a registry of Micrometer, and so to Prometheus, OpenTelemetry and
 * others. Tag {@code transport} is {@code sharedmemory}, {@code ibverbs} or {@code tcp}.
 *
 * <table>
 * <caption>Meters</caption>
 * <tr><th>name</th><th>type, unit</th><th>tags</th><th>number</th></tr>
 * <tr><td>{@code rdmasockets.connections}</td><td>counter</td><td>transport, type</td><td>connections made, of type
 * {@code connected} or {@code accepted}</td></tr>
 * <tr><td>{@code rdmasockets.connections.open}</td><td>gauge</td><td>transport</td><td>connections now</td></tr>
 * <tr><td>{@code rdmasockets.connects.failed}</td><td>counter</td><td>transport</td><td>attempts that failed</td></tr>
 * <tr><td>{@code rdmasockets.connects.passed.over}</td><td>counter</td><td>transport</td><td>connects that did not try
 * it</td></tr>
 * <tr><td>{@code rdmasockets.failures}</td><td>counter</td><td>transport, cause</td><td>failures</td></tr>
 * <tr><td>{@code rdmasockets.received}, {@code rdmasockets.sent}</td><td>counters, bytes</td><td>transport</td>
 * <td>bytes that sockets have read and written</td></tr>
 * <tr><td>{@code rdmasockets.memory.registered}</td><td>gauge, bytes</td><td>transport</td><td>memory now</td></tr>
 * <tr><td>{@code rdmasockets.queue.pairs}</td><td>gauge</td><td>transport</td><td>queue pairs now</td></tr>
 * <tr><td>{@code rdmasockets.poller.wakeups}</td><td>counter</td><td>transport</td><td>wake-ups of the poller</td></tr>
 * <tr><td>{@code rdmasockets.poller.cpu}</td><td>counter, ns</td><td>transport</td><td>its processor time</td></tr>
 * <tr><td>{@code rdmasockets.spins.vain}</td><td>timer</td><td>transport</td><td>waits that spun in vain</td></tr>
 * <tr><td>{@code rdmasockets.fallbacks}, {@code rdmasockets.rescues}, {@code rdmasockets.datagrams.lost},
 * {@code rdmasockets.packets.lost}</td><td>counters</td><td></td><td>as in {@link TransportCounters}</td></tr>
 * </table>
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // Micrometer's types are for those who have Micrometer
public final class RdmaSocketsMetrics implements MeterBinder {
    private static final String PREFIX = "rdmasockets.";
    private static final String TYPE = "type";
    /** Registries keep what they ask weakly: this stays. */
    private static final TransportsMXBean ALL = new TransportsBean();
    /** Likewise. */
    private static final List<Transport> TRANSPORTS = List.of(Transport.SHARED_MEMORY, Transport.IBVERBS,
            Transport.TCP);

    private final Tags tags;

    /** Makes a binder of meters without further tags. */
    public RdmaSocketsMetrics() {
        this(Tags.empty());
    }

    /**
     * Makes a binder.
     *
     * @param tags further tags of each meter
     */
    public RdmaSocketsMetrics(Iterable<Tag> tags) {
        this.tags = Tags.of(tags);
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        for (Transport transport : TRANSPORTS) {
            new Meters(registry, transport, tags.and("transport", transport.name())).bind();
        }
        count(registry, "fallbacks", "Connections over TCP where another transport would have come first",
                TransportsMXBean::getFallbacks);
        count(registry, "rescues", "Wake-ups that were lost, and found by a timer", TransportsMXBean::getRescues);
        count(registry, "datagrams.lost", "Datagrams that found no room", TransportsMXBean::getLostDatagrams);
        count(registry, "packets.lost", "Packets of sessions that were sent again", TransportsMXBean::getLostPackets);
    }

    private void count(MeterRegistry registry, String name, String description,
            ToLongFunction<TransportsMXBean> number) {
        FunctionCounter.builder(PREFIX + name, ALL, number::applyAsLong).tags(tags).description(description)
                .register(registry);
    }

    /** The meters of one transport; the names are without the prefix, and a unit may be null. */
    private record Meters(MeterRegistry registry, Transport transport, Tags tags) {
        void bind() {
            count("connections", tags.and(TYPE, "connected"), null, "Connections made", TransportCounters::connected);
            count("connections", tags.and(TYPE, "accepted"), null, "Connections made", TransportCounters::accepted);
            count("connects.failed", tags, null, "Attempts to connect that failed", TransportCounters::failed);
            count("connects.passed.over", tags, null, "Connects that did not try this transport",
                    TransportCounters::passedOver);
            for (String cause : TransportStatistics.CAUSES) {
                count("failures", tags.and("cause", cause), null, "Failures of connections",
                        now -> now.failures().getOrDefault(cause, 0L));
            }
            count("received", tags, BaseUnits.BYTES, "Bytes that sockets have read", TransportCounters::receivedBytes);
            count("sent", tags, BaseUnits.BYTES, "Bytes that sockets have written", TransportCounters::sentBytes);
            count("poller.wakeups", tags, null, "Wake-ups of the thread that waits for completions",
                    TransportCounters::pollerWakeUps);
            gauge("connections.open", null, "Open connections", TransportCounters::open);
            gauge("queue.pairs", null, "Queue pairs", TransportCounters::queuePairs);
            gauge("memory.registered", BaseUnits.BYTES, "Registered memory", TransportCounters::registeredBytes);
            FunctionCounter.builder(PREFIX + "poller.cpu", ALL,
                    all -> all.getPollerCpuNanos().getOrDefault(transport.name(), 0L)).tags(tags).baseUnit("ns")
                    .description("Processor time of the thread that waits for completions").register(registry);
            FunctionTimer.builder(PREFIX + "spins.vain", transport, of -> TransportCounters.of(of).spinsInVain(),
                    of -> TransportCounters.of(of).nanosSpunInVain(), TimeUnit.NANOSECONDS).tags(tags)
                    .description("Waits that spun without what they waited for").register(registry);
        }

        private void count(String name, Tags own, String unit, String description,
                ToLongFunction<TransportCounters> number) {
            FunctionCounter.builder(PREFIX + name, transport, of -> number.applyAsLong(TransportCounters.of(of)))
                    .tags(own).baseUnit(unit).description(description).register(registry);
        }

        private void gauge(String name, String unit, String description, ToLongFunction<TransportCounters> number) {
            Gauge.builder(PREFIX + name, transport, of -> number.applyAsLong(TransportCounters.of(of))).tags(tags)
                    .baseUnit(unit).description(description).register(registry);
        }
    }
}
