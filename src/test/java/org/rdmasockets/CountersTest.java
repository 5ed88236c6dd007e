package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.datagram.DatagramInbox;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.internal.socket.TransportsBean;
import org.rdmasockets.micrometer.RdmaSocketsMetrics;

/** The counters of a process, as its program, its operator and a registry of Micrometer see them. */
@Timeout(120)
class CountersTest {
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();
    private static final List<String> NATIVE = List.of("--enable-native-access=ALL-UNNAMED");
    private static final String DONE = "all was counted";

    /** Counts in a process of its own, where nothing else is. */
    public static final class Main {
        private static final String SHARED = "sharedmemory";
        private static final int LARGE = 200_000;

        private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
        private final TransportsMXBean bean;

        private Main() throws Exception {
            new RdmaSocketsMetrics(Tags.of("application", "test")).bindTo(registry);
            MBeanServer server = ManagementFactory.getPlatformMBeanServer();
            server.registerMBean(new TransportsBean(), new ObjectName(TransportsMXBean.NAME)); // of another copy
            new RdmaServerSocket(0, 1, LOOPBACK).close(); // the property asks for it
            ObjectName own = new ObjectName(TransportsMXBean.NAME + ",copy=2");
            bean = JMX.newMXBeanProxy(server, own, TransportsMXBean.class);
            // As a console sees it, which has none of our classes.
            TabularData rows = (TabularData) server.getAttribute(own, "Transports");
            CompositeData row = rows.get(new Object[] {"tcp"});
            assertEquals(0L, ((CompositeData) row.get("value")).get("connected"));
        }

        /** Ends with a line that says so, or an error. */
        public static void main(String[] arguments) throws Exception {
            Main main = new Main();
            main.connectionsAndBytesAreCounted();
            main.aFallbackAndFailuresAreCounted();
            main.aResetIsAFailure();
            lossesAreCounted();
            main.metersHaveTheSame();
            System.out.println(DONE);
        }

        private TransportCounters now(String transport) {
            return bean.getTransports().get(transport);
        }

        private void connectionsAndBytesAreCounted() throws Exception {
            try (RdmaServerSocket server = new RdmaServerSocket(0, 1, LOOPBACK);
                    RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort());
                    RdmaSocket accepted = server.accept()) {
                client.getOutputStream().write(new byte[1000]);
                accepted.getInputStream().readNBytes(1000);
                TransportCounters open = now(SHARED);
                assertEquals(List.of(1L, 1L, 2L, 2L, 1000L, 1000L), List.of(open.connected(), open.accepted(),
                        open.open(), open.queuePairs(), open.sentBytes(), open.receivedBytes()));
                assertTrue(open.registeredBytes() > 0 && bean.getRegisteredBytes() > 0, open::toString);
                assertEquals(2, bean.getQueuePairs());
                Thread writer = Thread.startVirtualThread(() -> write(client));
                for (long done = 0; done < LARGE;) {
                    try (ReceivedBytes received = accepted.receive()) {
                        done += received.segment().byteSize();
                    }
                }
                writer.join();
                assertEquals(List.of(1000L + LARGE, 1000L + LARGE),
                        List.of(now(SHARED).sentBytes(), now(SHARED).receivedBytes()));
            }
            Await.until("the end of both connections", () -> now(SHARED).open() == 0);
            TransportCounters closed = now(SHARED);
            assertEquals(List.of(1L, 1L, 0L, 0L, 1000L + LARGE, 1000L + LARGE), List.of(closed.connected(),
                    closed.accepted(), closed.queuePairs(), closed.registeredBytes(), closed.sentBytes(),
                    closed.receivedBytes()));
            assertTrue(closed.pollerWakeUps() > 0, closed::toString);
            assertTrue(bean.getPollerCpuNanos().get(SHARED) > 0, () -> bean.getPollerCpuNanos().toString());
            assertEquals(List.of(0L, 0L), List.of(bean.getFallbacks(), bean.getPinnedBytes()));
        }

        private static void write(RdmaSocket to) {
            try {
                to.write(ByteBuffer.allocateDirect(LARGE));
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }

        private void aFallbackAndFailuresAreCounted() throws Exception {
            int port;
            try (ServerSocket server = new ServerSocket(0, 1, LOOPBACK);
                    RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort());
                    Socket accepted = server.accept()) {
                port = server.getLocalPort();
                client.getOutputStream().write(new byte[10]);
                accepted.getOutputStream().write(7);
                assertEquals(7, client.getInputStream().read());
                TransportCounters tcp = now("tcp");
                assertEquals(List.of(1L, 1L, 10L, 1L, 0L), List.of(tcp.connected(), tcp.open(), tcp.sentBytes(),
                        tcp.receivedBytes(), tcp.failed()));
            }
            assertEquals(List.of(1L, 0L), List.of(bean.getFallbacks(), now("tcp").open()));
            try (RdmaSocket client = new RdmaSocket()) {
                assertThrows(ConnectException.class, () -> client.connect(new InetSocketAddress(LOOPBACK, port)));
            }
            assertEquals(Map.of("refused", 1L), now("tcp").failures());
            assertEquals(2, now(SHARED).failed());
            assertEquals(Map.of("refused", 2L), now(SHARED).failures());
            assertEquals(1, bean.getFallbacks(), "a connection that there is not is no fallback");
            assertTrue(now("ibverbs").passedOver() + now("ibverbs").failed() >= 2, now("ibverbs")::toString);
        }

        private void aResetIsAFailure() throws Exception {
            try (RdmaServerSocket server = new RdmaServerSocket(0, 1, LOOPBACK)) {
                RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort());
                RdmaSocket accepted = server.accept();
                client.setSoLinger(true, 0);
                client.close();
                assertThrows(SocketException.class, () -> accepted.getInputStream().read());
                accepted.close();
            }
            Await.until("the reset", () -> now(SHARED).failures().containsKey("reset"), () -> now(SHARED));
            assertEquals(Map.of("refused", 2L, "reset", 1L), now(SHARED).failures());
        }

        private static void lossesAreCounted() {
            DatagramInbox inbox = new DatagramInbox(1);
            InetSocketAddress sender = new InetSocketAddress(LOOPBACK, 7);
            inbox.take(sender, new byte[1], null);
            assertEquals(0, TransportCounters.lostDatagrams());
            inbox.take(sender, new byte[1], null);
            assertTrue(!inbox.hasRoom(1, null));
            assertEquals(2, TransportCounters.lostDatagrams());
        }

        private void metersHaveTheSame() {
            TransportCounters shared = now(SHARED);
            assertEquals(shared.connected(), counter("connections", "type", "connected"));
            assertEquals(shared.accepted(), counter("connections", "type", "accepted"));
            assertEquals(2, counter("failures", "cause", "refused"));
            assertEquals(shared.sentBytes(), counter("sent"));
            assertEquals(shared.spinsInVain(), registry.get("rdmasockets.spins.vain").tag("transport", SHARED)
                    .functionTimer().count());
            assertEquals(0, registry.get("rdmasockets.connections.open").tag("transport", "tcp").gauge().value());
            assertEquals(1, registry.get("rdmasockets.fallbacks").functionCounter().count());
            assertEquals(2, registry.get("rdmasockets.datagrams.lost").functionCounter().count());
            for (Meter meter : registry.getMeters()) {
                assertEquals("test", meter.getId().getTag("application"), meter.getId()::toString);
                assertTrue(meter.getId().getName().matches("rdmasockets(\\.[a-z]+)+"), meter.getId()::toString);
            }
        }

        private double counter(String name, String... tags) {
            return registry.get("rdmasockets." + name).tag("transport", SHARED).tags(tags).functionCounter().count();
        }
    }

    /** Has nothing but the module java.base. */
    public static final class Bare {
        private Bare() {
        }

        /** Uses what would need more. */
        public static void main(String[] arguments) throws IOException {
            RdmaSockets.registerMXBean();
            try (RdmaServerSocket server = new RdmaServerSocket(0, 1, LOOPBACK);
                    RdmaSocket client = new RdmaSocket(LOOPBACK, server.getLocalPort());
                    Socket accepted = server.accept()) {
                accepted.getOutputStream().write(7);
                client.getInputStream().read();
            }
            TransportCounters counters = TransportCounters.of(Transport.SHARED_MEMORY);
            System.out.println(counters.connected() + counters.receivedBytes() + " "
                    + new TransportsBean().getPollerCpuNanos() + ModuleLayer.boot().modules().size());
        }
    }

    @Test
    void theBeanAndTheMetersHaveWhatWasDone() throws Exception {
        List<String> options = new ArrayList<>(NATIVE);
        options.add("-Dorg.rdmasockets.mxbean=true");
        String said = ChildJvm.run(List.of(), options, Main.class);
        assertTrue(said.contains(DONE), said);
    }

    @Test
    void allElseWorksWithoutManagement() throws Exception {
        String said = ChildJvm.run(List.of(), List.of("--enable-native-access=ALL-UNNAMED", "--limit-modules",
                "java.base"), Bare.class);
        assertTrue(said.lines().anyMatch("2 {}1"::equals), said);
    }
}
