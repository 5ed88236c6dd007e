package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/**
 * The example {@code PingPong} measures sockets. A program that takes new memory for each round trip measures its first
 * touch instead.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class PingPongGuardTest {
    private static final int BYTES = 64 * 1024;
    private static final int TIMES = 1_000_000;
    /** Far less than a message. Parked virtual threads of java.net take some 400 bytes, cold code more. */
    private static final long MOST_PER_ROUND_TRIP = BYTES / 8;

    @Test
    void roundTripsTakeNoNewMemory() throws Exception {
        Process process = ChildJvm.start(List.of(), List.of("--enable-native-access=ALL-UNNAMED"), Main.class);
        try {
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(process.waitFor() == 0 && said.contains("counted plain") && said.contains("counted rdma"), said);
            said.lines().filter(line -> line.startsWith("counted")).forEach(line -> assertTrue(
                    Long.parseLong(line.substring(line.lastIndexOf(' ') + 1)) <= MOST_PER_ROUND_TRIP, line));
        } finally {
            process.destroyForcibly();
        }
    }

    /** Runs both ends of the example, in a JVM where nothing else allocates. */
    static final class Main {
        private Main() {
        }

        /** Prints what a round trip allocates, at both ends together. */
        public static void main(String[] arguments) throws Exception {
            InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
            try (ServerSocket plain = new ServerSocket(); ServerSocket rdma = new RdmaServerSocket()) {
                plain.bind(any);
                count("plain", plain, new Socket());
                rdma.bind(any);
                count("rdma", rdma, new RdmaSocket());
            }
        }

        private static void count(String name, ServerSocket server, Socket client) throws Exception {
            Class<?> type = Class.forName("PingPong");
            Constructor<?> constructor = type.getDeclaredConstructor();
            Method echo = type.getDeclaredMethod("echo", ServerSocket.class, int.class);
            Method roundTrips = type.getDeclaredMethod("roundTrips", Socket.class, byte[].class, int[].class);
            AccessibleObject.setAccessible(new AccessibleObject[] {constructor, echo, roundTrips}, true);
            Object example = constructor.newInstance();
            FutureTask<Object> echoing = new FutureTask<>(() -> echo.invoke(example, server, BYTES));
            Thread.startVirtualThread(echoing);
            FutureTask<Long> counting = new FutureTask<>(() -> {
                byte[] message = new byte[BYTES];
                int[] nanos = new int[TIMES];
                long before = allocatedBytes();
                int count = (int) roundTrips.invoke(example, client, message, nanos);
                return (allocatedBytes() - before) / count;
            });
            try (client) {
                client.connect(server.getLocalSocketAddress());
                Thread.startVirtualThread(counting);
                System.out.println("counted " + name + ": bytes for a round trip: " + counting.get());
            }
            echoing.get();
        }

        private static long allocatedBytes() {
            return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getTotalThreadAllocatedBytes();
        }
    }
}
