package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmasockets.examples.Change;
import org.rdmasockets.examples.Changed;
import org.rdmasockets.examples.Entry;
import org.rdmasockets.examples.Found;
import org.rdmasockets.examples.StoreGrpc;
import org.rdmasockets.rpc.KillableServer;

/** A server in a JVM of its own that is killed, and started anew on its port, while stubs of a client call it. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class KilledServerTest {
    private static final int LONG_SECONDS = 100;
    /** Calls of each thread at once, where it does not wait for each. */
    private static final int UNDER_WAY = 16;

    @TempDir
    private Path folder;
    private KillableServer server;

    /** Serves until it is killed. */
    public static final class Child {
        private Child() {
        }

        /** Arguments: transport, port and file. */
        public static void main(String[] arguments) throws Exception {
            FileOutputStream file = new FileOutputStream(arguments[2], true);
            RdmaServerBuilder builder = RdmaServerBuilder.forAddress(
                    KillableServer.at(Integer.parseInt(arguments[1]))).addService(new Stored(file));
            if (arguments[0].equals("udp")) {
                builder.datagrams(DatagramSocket::new);
            } else if (arguments[0].equals("datagrams")) {
                builder.datagrams();
            }
            KillableServer.serve(() -> builder.build().start());
        }
    }

    /** Put is idempotent, compareAndSet is not; each run is stored before it is answered. */
    private static final class Stored extends StoreGrpc.StoreImplBase {
        private final FileOutputStream file;

        Stored(FileOutputStream file) {
            this.file = file;
        }

        private void store(String key) {
            try {
                file.write(KillableServer.bytes(Integer.parseInt(key))); // by one call of the system
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void put(Entry request, StreamObserver<Found> answers) {
            store(request.getKey());
            answers.onNext(Found.newBuilder().setValue(request.getValue()).build());
            answers.onCompleted();
        }

        @Override
        public void compareAndSet(Change request, StreamObserver<Changed> answers) {
            store(request.getKey());
            answers.onNext(Changed.newBuilder().setDone(true).setFound(request.getValue()).build());
            answers.onCompleted();
        }
    }

    @BeforeEach
    void findPort() throws IOException {
        server = new KillableServer(Child.class, folder.resolve("store"));
    }

    @AfterEach
    void killServers() {
        server.close();
    }

    private ManagedChannel channel(String transport) {
        RdmaChannelBuilder builder = RdmaChannelBuilder.forAddress(
                server.address().getAddress().getHostAddress(), server.address().getPort());
        return (switch (transport) {
            case "udp" -> builder.datagrams(DatagramSocket::new);
            case "datagrams" -> builder.datagrams();
            default -> builder;
        }).build();
    }

    /** Where a thread's answers are awaited: at each call, or by observers, some at once. */
    private interface Caller {
        /** Makes all calls of a thread: those that ended as unavailable. */
        Set<Integer> callAll(int first, boolean idempotent) throws Exception;
    }

    private Set<Integer> block(ManagedChannel channel, int first, boolean idempotent) throws Exception {
        StoreGrpc.StoreBlockingStub stub = StoreGrpc.newBlockingStub(channel);
        Set<Integer> failed = new HashSet<>();
        for (int i = first; i < first + KillableServer.PER_THREAD; i++) {
            server.awaitTurn(i);
            try {
                ByteString value = ByteString.copyFrom(KillableServer.bytes(i));
                StoreGrpc.StoreBlockingStub now = stub.withDeadlineAfter(LONG_SECONDS, TimeUnit.SECONDS);
                assertEquals(value, idempotent ? now.put(entry(i, value)).getValue()
                        : now.compareAndSet(change(i, value)).getFound());
            } catch (StatusRuntimeException e) {
                note(e, i, idempotent, failed);
            }
        }
        return failed;
    }

    private static void note(StatusRuntimeException e, int call, boolean idempotent, Set<Integer> failed) {
        if (idempotent || e.getStatus().getCode() != Status.Code.UNAVAILABLE) {
            throw e;
        }
        failed.add(call);
    }

    private static Entry entry(int call, ByteString value) {
        return Entry.newBuilder().setKey(Integer.toString(call)).setValue(value).build();
    }

    private static Change change(int call, ByteString value) {
        return Change.newBuilder().setKey(Integer.toString(call)).setValue(value).build();
    }

    /** Ends a call. */
    private static final class Ending<A> implements StreamObserver<A> {
        private final int call;
        private final Semaphore room;
        private final ConcurrentLinkedQueue<Future<Integer>> ends;

        Ending(int call, Semaphore room, ConcurrentLinkedQueue<Future<Integer>> ends) {
            this.call = call;
            this.room = room;
            this.ends = ends;
        }

        @Override
        public void onNext(A value) {
            ByteString come = value instanceof Found found ? found.getValue() : ((Changed) value).getFound();
            assertEquals(ByteString.copyFrom(KillableServer.bytes(call)), come);
        }

        @Override
        public void onError(Throwable failure) {
            ends.add(CompletableFuture.failedFuture(failure));
            room.release();
        }

        @Override
        public void onCompleted() {
            ends.add(CompletableFuture.completedFuture(call));
            room.release();
        }
    }

    private Set<Integer> observe(ManagedChannel channel, int first, boolean idempotent) throws Exception {
        Semaphore room = new Semaphore(UNDER_WAY);
        List<ConcurrentLinkedQueue<Future<Integer>>> ends = new ArrayList<>();
        for (int i = first; i < first + KillableServer.PER_THREAD; i++) {
            server.awaitTurn(i);
            ByteString value = ByteString.copyFrom(KillableServer.bytes(i));
            assertTrue(room.tryAcquire(2 * LONG_SECONDS, TimeUnit.SECONDS), "no call of " + UNDER_WAY + " ends");
            StoreGrpc.StoreStub stub = StoreGrpc.newStub(channel).withWaitForReady().withDeadlineAfter(LONG_SECONDS,
                    TimeUnit.SECONDS);
            ConcurrentLinkedQueue<Future<Integer>> own = new ConcurrentLinkedQueue<>();
            ends.add(own);
            if (idempotent) {
                stub.put(entry(i, value), new Ending<>(i, room, own));
            } else {
                stub.compareAndSet(change(i, value), new Ending<>(i, room, own));
            }
        }
        assertTrue(room.tryAcquire(UNDER_WAY, 2 * LONG_SECONDS, TimeUnit.SECONDS), "not all calls end");
        Set<Integer> failed = new HashSet<>();
        for (int i = 0; i < KillableServer.PER_THREAD; i++) {
            assertEquals(1, ends.get(i).size(), "ends of call " + (first + i));
            try {
                ends.get(i).peek().get();
            } catch (ExecutionException e) {
                note((StatusRuntimeException) e.getCause(), first + i, idempotent, failed);
            }
        }
        return failed;
    }

    @ParameterizedTest
    @CsvSource({"sharedmemory, false", "udp, false", "datagrams, false", "sharedmemory, true", "udp, true"})
    void everyIdempotentCallIsAnsweredAndNoOtherRunsTwice(String transport, boolean observed) throws Exception {
        Process first = server.start(transport);
        ManagedChannel channel = channel(transport);
        Caller caller = observed ? (from, idempotent) -> observe(channel, from, idempotent)
                : (from, idempotent) -> block(channel, from, idempotent);
        Set<Integer> failed = new HashSet<>();
        try (ExecutorService callers = Executors.newCachedThreadPool()) {
            List<Future<Set<Integer>>> threads = new ArrayList<>();
            for (int t = 0; t < KillableServer.THREADS; t++) {
                int from = t * KillableServer.PER_THREAD;
                boolean idempotent = KillableServer.isIdempotent(t);
                threads.add(callers.submit(() -> caller.callAll(from, idempotent)));
            }
            server.killAmongCalls(first, transport);
            for (Future<Set<Integer>> thread : threads) {
                failed.addAll(thread.get(2 * LONG_SECONDS, TimeUnit.SECONDS));
            }
        } finally {
            channel.shutdownNow().awaitTermination(LONG_SECONDS, TimeUnit.SECONDS);
        }
        if (observed) { // and waits for the server
            assertTrue(failed.size() <= KillableServer.THREADS / 2 * UNDER_WAY,
                    () -> "more failed than were under way: " + failed);
        }
        System.out.println(failed.size() + " of " + KillableServer.CALLS + " calls, none of them idempotent, were "
                + "unavailable over " + transport);
        server.checkRuns(failed);
    }
}
