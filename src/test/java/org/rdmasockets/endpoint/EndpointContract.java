package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.TestDevice;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.Place;
import org.rdmasockets.contract.Placed;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.verbs.AccessFlag;

/** The base of all contracts of endpoints: connected endpoints, and resources closed at the end. */
@Execution(ExecutionMode.CONCURRENT)
abstract class EndpointContract implements Placed {
    /** Long enough for anything on an emulated machine. */
    static final Duration PATIENCE = Duration.ofSeconds(30);
    /** The longest array. */
    static final int MOST = Integer.MAX_VALUE;
    static final Set<AccessFlag> READ_WRITE = Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);

    /** Closed after the test, the last one first. */
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();

    /** Two ends of a connection. */
    record Pair(RdmaEndpoint client, RdmaEndpoint server) {
    }

    private EndpointFixture fixture;

    @Override
    public final void runsIn(Place.Entered where) {
        fixture = new EndpointFixture(where.place() == Place.DEVICE ? TestDevice.name() : "sharedmemory",
                where.fixture().address());
    }

    /** The device and address under test. */
    final EndpointFixture fixture() {
        return fixture;
    }

    @AfterEach
    void closeAll() throws Exception {
        while (!resources.isEmpty()) {
            resources.pop().close();
        }
    }

    /** Closes the resource after the test. */
    <T extends AutoCloseable> T closing(T resource) {
        resources.push(resource);
        return resource;
    }

    RdmaEndpointBuilder builder() {
        return RdmaEndpoint.builder().device(fixture().device());
    }

    InetSocketAddress anyPort() {
        return new InetSocketAddress(fixture().address(), 0);
    }

    Pair connect() throws Exception {
        return connect(builder(), builder());
    }

    Pair connect(RdmaEndpointBuilder client, RdmaEndpointBuilder server) throws Exception {
        RdmaEndpointServer listening = closing(server.listen(anyPort()));
        RdmaEndpoint connected = closing(client.connect(listening.localAddress()));
        return new Pair(connected, closing(listening.accept(PATIENCE)));
    }

    /** Runs something that may wait in a virtual thread. */
    static <T> Call<T> start(String what, Callable<T> body) {
        return Call.start(ThreadKind.VIRTUAL, what, body);
    }

    /** Likewise, without a result. */
    static Call<Void> run(String what, Call.Action body) {
        return Call.run(ThreadKind.VIRTUAL, what, body);
    }

    /** A region with bytes that depend on a seed. */
    static LocalRegion filled(RdmaEndpoint endpoint, int size, long seed) throws IOException {
        return fill(endpoint.allocate(size), seed);
    }

    static LocalRegion fill(LocalRegion region, long seed) {
        MemorySegment.copy(random((int) region.length(), seed), 0, region.segment(), ValueLayout.JAVA_BYTE, 0,
                (int) region.length());
        return region;
    }

    static byte[] random(int size, long seed) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    static byte[] bytes(LocalRegion region) {
        return region.segment().toArray(ValueLayout.JAVA_BYTE);
    }

    /** Memory of an endpoint that its peer may read and write. */
    static LocalRegion open(RdmaEndpoint endpoint, int size) throws IOException {
        return endpoint.allocate(size, 64, READ_WRITE);
    }

    /**
     * Does what the peer refuses, until that shows: where a completion is not delivery (iWARP), the first call may have
     * succeeded.
     */
    static EndpointException awaitBroken(String what, Call.Action call) throws Exception {
        EndpointException[] failure = new EndpointException[1];
        Await.until(what + " breaks the connection", () -> {
            try {
                call.run();
            } catch (EndpointException e) {
                failure[0] = e;
            }
            return failure[0] != null;
        });
        return failure[0];
    }

    /** A call that has to fail for that reason, in words that contain the text. */
    static EndpointException refused(EndpointException.Reason reason, String text, Executable call) {
        EndpointException e = assertThrows(EndpointException.class, call);
        assertEquals(reason, e.reason(), e::getMessage);
        assertTrue(e.getMessage().contains(text), () -> "\"" + text + "\" is not in: " + e.getMessage());
        return e;
    }
}
