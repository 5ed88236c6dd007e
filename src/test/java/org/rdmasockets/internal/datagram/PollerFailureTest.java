package org.rdmasockets.internal.datagram;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.waiting.CompletionPoller;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** The thread that takes in what a transport brings ends, in a JVM of its own: no caller waits for ever. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class PollerFailureTest {
    /** A system call that fails from now on. */
    private record Broken(EventPoller before) implements EventPoller {
        @Override
        public void add(EventSource source) {
            before.add(source);
        }

        @Override
        public void remove(EventSource source) {
            before.remove(source);
        }

        @Override
        public int await(int timeoutMillis, Consumer<? super EventSource> ready) throws VerbsException {
            throw new VerbsException("poll", Errno.EBADF, "a test breaks it");
        }

        @Override
        public void wakeup() {
            before.wakeup();
        }

        @Override
        public void close() {
            before.close();
        }
    }

    /** Breaks the poller, and says what becomes of the waiters for datagrams. */
    public static final class Child {
        private Child() {
        }

        /** Arguments: transport and address. */
        public static void main(String[] arguments) throws Exception {
            Transport transport = new Transport(arguments[0], "");
            InetAddress address = InetAddress.getByName(arguments[1]);
            DatagramSocket socket = open(address, transport);
            DatagramSocket other = open(address, transport);
            other.setSoTimeout(100);
            Await.until("datagrams go over " + transport, () -> exchange(socket, other, transport));
            FutureTask<String> platform = receiver(socket);
            Thread.ofPlatform().daemon().start(platform);
            FutureTask<String> virtual = receiver(socket);
            Thread.ofVirtual().start(virtual);
            breakPoller(transport.is(Transport.IBVERBS) ? Providers.ibverbs() : Providers.sharedMemory());
            System.out.println("platform: " + platform.get(60, TimeUnit.SECONDS));
            System.out.println("virtual: " + virtual.get(60, TimeUnit.SECONDS));
            try (DatagramSocket later = open(address, Transport.AUTO); DatagramSocket plain = new DatagramSocket()) {
                plain.send(new DatagramPacket(new byte[7], 7, later.getLocalSocketAddress()));
                DatagramPacket packet = new DatagramPacket(new byte[10], 10);
                later.receive(packet);
                System.out.println("later: " + packet.getLength() + " bytes over "
                        + later.getOption(RdmaSocketOptions.TRANSPORT).name());
            }
            socket.close();
            other.close();
            System.exit(0);
        }

        private static DatagramSocket open(InetAddress address, Transport transport) throws IOException {
            return new RdmaDatagramSocket(new InetSocketAddress(address, 0)).setOption(RdmaSocketOptions.TRANSPORT,
                    transport);
        }

        private static boolean exchange(DatagramSocket one, DatagramSocket two, Transport transport)
                throws IOException {
            one.setSoTimeout(100);
            boolean goes = true;
            for (DatagramSocket from : List.of(one, two)) {
                DatagramSocket to = from == one ? two : one;
                from.send(new DatagramPacket(new byte[1], 1, to.getLocalSocketAddress()));
                goes &= from.getOption(RdmaSocketOptions.TRANSPORT).is(transport);
                try {
                    to.receive(new DatagramPacket(new byte[1], 1));
                } catch (java.net.SocketTimeoutException e) {
                    goes = false;
                }
            }
            one.setSoTimeout(0);
            return goes;
        }

        private static FutureTask<String> receiver(DatagramSocket socket) {
            return new FutureTask<>(() -> {
                try {
                    while (true) {
                        socket.receive(new DatagramPacket(new byte[1], 1)); // one that came late
                    }
                } catch (IOException e) {
                    return e.getMessage();
                }
            });
        }

        private static void breakPoller(VerbsProvider provider) throws Exception {
            CompletionPoller poller = Engine.of(provider).poller();
            Field field = CompletionPoller.class.getDeclaredField("events");
            field.setAccessible(true);
            EventPoller events = (EventPoller) field.get(poller);
            field.set(poller, new Broken(events));
            events.wakeup();
        }
    }

    /** The transport that ends. */
    Transport transport() {
        return Transport.SHARED_MEMORY;
    }

    /** Of the sockets. */
    InetAddress address() {
        return InetAddress.getLoopbackAddress();
    }

    /** Why that cannot be here. */
    Optional<String> obstacle() {
        return Providers.sharedMemory().unavailability();
    }

    @Test
    void receiversHearThatNothingComesAnyMore() throws Exception {
        Optional<String> obstacle = obstacle();
        obstacle.ifPresent(reason -> System.out.println("PollerFailureTest skips: " + reason));
        Assumptions.assumeTrue(obstacle.isEmpty(), () -> obstacle.orElseThrow());
        String said = ChildJvm.run(List.of(), List.of("--enable-native-access=ALL-UNNAMED"), Child.class,
                transport().name(), address().getHostAddress());
        for (String kind : List.of("platform", "virtual")) {
            assertTrue(said.contains(kind + ": datagrams over " + transport().name() + " are received no more: "
                    + "completion poller failed: it has stopped"), said);
        }
        assertTrue(said.contains("later: 7 bytes over udp"), said);
    }
}
