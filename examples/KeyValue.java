// Keeps values by their keys and serves them by gRPC's stubs over RDMA calls, or asks such a server.
// Usage: KeyValue [PORT], or KeyValue HOST PORT get KEY | put KEY VALUE | delete KEY | scan PREFIX | set KEY OLD NEW

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmasockets.examples.Change;
import org.rdmasockets.examples.Changed;
import org.rdmasockets.examples.Entry;
import org.rdmasockets.examples.Found;
import org.rdmasockets.examples.Key;
import org.rdmasockets.examples.StoreGrpc;
import org.rdmasockets.grpc.RdmaChannelBuilder;
import org.rdmasockets.grpc.RdmaServerBuilder;

void main(String[] args) throws Exception {
    try {
        if (args.length < 2) {
            serve(args.length > 0 ? Integer.parseInt(args[0]) : 7500);
        } else {
            ask(args);
        }
    } catch (StatusRuntimeException e) {
        System.err.println(e.getStatus().getCode() + ": " + e.getStatus().getDescription());
        System.exit(1);
    } catch (IllegalArgumentException | IOException e) {
        System.err.println(e.getMessage());
        System.exit(1);
    }
}

void serve(int port) throws IOException, InterruptedException {
    Server server = RdmaServerBuilder.forPort(port).addService(new Values()).build().start();
    IO.println("port " + server.getPort());
    server.awaitTermination();
}

/** The same class would run on Netty or OkHttp. */
static final class Values extends StoreGrpc.StoreImplBase {
    private final ConcurrentSkipListMap<String, ByteString> values = new ConcurrentSkipListMap<>();

    @Override
    public void get(Key request, StreamObserver<Found> answer) {
        end(answer, found(values.get(request.getKey())));
    }

    @Override
    public void put(Entry request, StreamObserver<Found> answer) {
        if (request.getKey().isEmpty()) {
            answer.onError(Status.INVALID_ARGUMENT.withDescription("a key has at least one letter").asException());
            return;
        }
        end(answer, found(values.put(request.getKey(), request.getValue())));
    }

    @Override
    public void delete(Key request, StreamObserver<Found> answer) {
        end(answer, found(values.remove(request.getKey())));
    }

    @Override
    public void scan(Key request, StreamObserver<Entry> answers) {
        var to = (ServerCallStreamObserver<Entry>) answers;
        var left = values.tailMap(request.getKey()).entrySet().iterator();
        AtomicBoolean done = new AtomicBoolean();
        to.setOnReadyHandler(() -> { // whenever the client takes more: a slow one does not fill this memory
            while (to.isReady() && !done.get()) {
                Map.Entry<String, ByteString> next = left.hasNext() ? left.next() : null;
                if (next == null || !next.getKey().startsWith(request.getKey())) {
                    done.set(true);
                    to.onCompleted();
                } else {
                    to.onNext(Entry.newBuilder().setKey(next.getKey()).setValue(next.getValue()).build());
                }
            }
        });
    }

    @Override
    public void compareAndSet(Change request, StreamObserver<Changed> answer) {
        Changed.Builder changed = Changed.newBuilder();
        values.compute(request.getKey(), (key, now) -> {
            boolean done = request.hasExpected() ? request.getExpected().equals(now) : now == null;
            changed.setDone(done);
            if (now != null) {
                changed.setFound(now);
            }
            return done ? request.getValue() : now;
        });
        end(answer, changed.build());
    }

    private static Found found(ByteString value) {
        return value == null ? Found.getDefaultInstance() : Found.newBuilder().setValue(value).build();
    }

    private static <T> void end(StreamObserver<T> answer, T message) {
        answer.onNext(message);
        answer.onCompleted();
    }
}

void ask(String[] args) throws InterruptedException {
    ManagedChannel channel = RdmaChannelBuilder.forAddress(args[0], Integer.parseInt(args[1])).build();
    try {
        ask(StoreGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS), args);
        IO.println(channel);
    } finally {
        channel.shutdown().awaitTermination(5, TimeUnit.SECONDS);
    }
}

void ask(StoreGrpc.StoreBlockingStub store, String[] args) {
    String command = args.length > 2 ? args[2] : "";
    switch (command + " " + (args.length - 3)) {
        case "get 1" -> show(store.get(key(args[3])));
        case "put 2" -> show(store.put(Entry.newBuilder().setKey(args[3]).setValue(bytes(args[4])).build()));
        case "delete 1" -> show(store.delete(key(args[3])));
        case "scan 1" -> store.scan(key(args[3])).forEachRemaining(entry ->
                IO.println(entry.getKey() + " = " + entry.getValue().toStringUtf8()));
        case "set 3" -> {
            Changed changed = store.compareAndSet(Change.newBuilder().setKey(args[3]).setExpected(bytes(args[4]))
                    .setValue(bytes(args[5])).build());
            IO.println(changed.getDone() ? "changed" : "not changed: " + text(changed.hasFound(), changed.getFound()));
        }
        default -> throw new IllegalArgumentException(
                "get KEY, put KEY VALUE, delete KEY, scan PREFIX or set KEY OLD NEW");
    }
}

void show(Found found) {
    IO.println("value: " + text(found.hasValue(), found.getValue()));
}

String text(boolean here, ByteString value) {
    return here ? value.toStringUtf8() : "none";
}

Key key(String name) {
    return Key.newBuilder().setKey(name).build();
}

ByteString bytes(String text) {
    return ByteString.copyFromUtf8(text);
}
