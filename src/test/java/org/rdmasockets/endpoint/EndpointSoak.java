package org.rdmasockets.endpoint;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Engine;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * Many messages, leases and connections, all at once and in ten parts; what is left after each is printed, and growth
 * from the second to the last is an error. Both ends are in this process. See {@code src/test/guest/soak}.
 */
final class EndpointSoak {
    private static final int PARTS = 10;
    private static final int MESSAGE_BYTES = 64;
    private static final int LEASE_BYTES = 4096;
    /** The memory that a garbage collector and an allocator may move up and down. */
    private static final long SLACK_KIB = 64 << 10;

    private final String device;
    private final InetSocketAddress address;

    private EndpointSoak(String device, InetAddress address) {
        this.device = device;
        this.address = new InetSocketAddress(address, 0);
    }

    /**
     * Runs.
     *
     * @param arguments device, address, and how many messages, leases and connections in all
     */
    static void main(String[] arguments) throws Exception {
        EndpointSoak soak = new EndpointSoak(arguments[0], InetAddress.ofLiteral(arguments[1]));
        long first = 0;
        long last = 0;
        for (int part = 1; part <= PARTS; part++) {
            soak.allAtOnce(Integer.parseInt(arguments[2]) / PARTS, Integer.parseInt(arguments[3]) / PARTS,
                    Integer.parseInt(arguments[4]) / PARTS);
            soak.awaitNoConnections();
            last = residentKib();
            first = part == 2 ? last : first;
            System.out.println("part " + part + ": " + last + " KiB resident, " + lines("/proc/self/maps")
                    + " mappings");
        }
        if (last - first > SLACK_KIB) {
            throw new AssertionError("it grew by " + (last - first) + " KiB");
        }
        System.out.println("SUCCESS");
    }

    /** Each with a server of its own, so that none is given another's connection. */
    private void allAtOnce(int messages, int leases, int connections) throws Exception {
        List<FutureTask<Void>> tasks = List.of(start(() -> messages(messages)), start(() -> leases(leases)),
                start(() -> connections(connections)));
        for (FutureTask<Void> task : tasks) {
            task.get();
        }
    }

    private RdmaEndpointServer listen() throws IOException {
        return RdmaEndpoint.builder().device(device).listen(address);
    }

    private RdmaEndpoint connect(RdmaEndpointServer server) throws IOException {
        return RdmaEndpoint.builder().device(device).connect(server.localAddress());
    }

    private static RdmaEndpoint accept(RdmaEndpointServer server) throws IOException {
        return server.accept(Duration.ofSeconds(60));
    }

    private static FutureTask<Void> start(Callable<Void> body) {
        FutureTask<Void> task = new FutureTask<>(body);
        Thread.startVirtualThread(task);
        return task;
    }

    private Void messages(int count) throws Exception {
        try (RdmaEndpointServer server = listen(); RdmaEndpoint client = connect(server);
                RdmaEndpoint accepted = accept(server)) {
            long began = System.nanoTime();
            FutureTask<Void> receive = start(() -> {
                for (int i = 0; i < count; i++) {
                    try (Message message = accepted.receive()) {
                        if (message.immediate().orElseThrow() != i || message.length() != MESSAGE_BYTES) {
                            throw new AssertionError("message " + i + " is " + message);
                        }
                    }
                }
                return null;
            });
            FutureTask<Void> send = start(() -> {
                LocalRegion region = client.allocate(MESSAGE_BYTES);
                for (int i = 0; i < count; i++) {
                    client.send(region, i);
                }
                return null;
            });
            send.get();
            receive.get();
            report(count, "messages", began);
        }
        return null;
    }

    private Void leases(int count) throws Exception {
        try (RdmaEndpointServer server = listen(); RdmaEndpoint client = connect(server);
                RdmaEndpoint accepted = accept(server)) {
            long began = System.nanoTime();
            start(() -> {
                LocalRegion region = client.allocate(LEASE_BYTES);
                for (int i = 0; i < count; i++) {
                    try (RemoteLease lease = client.requestRemote(LEASE_BYTES)) {
                        client.write(region, lease.region());
                    }
                }
                return null;
            }).get();
            report(count, "leases over " + accepted.device().name(), began);
        }
        return null;
    }

    private Void connections(int count) throws Exception {
        long began = System.nanoTime();
        try (RdmaEndpointServer server = listen()) {
            for (int i = 0; i < count; i++) {
                try (RdmaEndpoint client = connect(server); RdmaEndpoint accepted = accept(server)) {
                    client.sendImmediate(i);
                    accepted.receive().close();
                }
            }
        }
        report(count, "connections", began);
        return null;
    }

    private static void report(int count, String what, long began) {
        System.out.println(count + " " + what + ", "
                + TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - began) / Math.max(1, count) + " us each");
    }

    private void awaitNoConnections() throws Exception {
        for (VerbsProvider provider : Providers.all()) {
            if (provider.unavailability().isEmpty()) {
                Engine engine = Engine.of(provider);
                Await.until("all connections are torn down", () -> engine.connections() == 0);
            }
        }
    }

    private static long residentKib() throws IOException {
        System.gc();
        return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).findFirst().orElseThrow();
    }

    private static int lines(String file) throws IOException {
        return Files.readAllLines(Path.of(file)).size();
    }
}
