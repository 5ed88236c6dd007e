package org.rdmasockets.fault;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.grpc.RdmaChannelBuilder;
import org.rdmasockets.grpc.RdmaServerBuilder;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcClientCall;
import org.rdmasockets.rpc.RpcException;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcPending;
import org.rdmasockets.rpc.RpcServer;
import org.rdmasockets.rpc.RpcStatus;

/** The part of {@link FaultNode} with calls over connections and sessions, with gRPC's stubs, and with datagrams. */
final class CallVictims {
    /** The kinds, in the order of their ports. */
    static final List<String> KINDS = List.of("CALLS", "SESSIONS", "STUBS", "DATAGRAMS");

    private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0);
    private static final int SHORT_BYTES = 3000;
    private static final int LONG_BYTES = 400_000;
    private static final int DATAGRAM_BYTES = 2000;
    private static final int MOST_EXCHANGES = 4;
    /** More than the bursts of a round have errors for one client. */
    private static final int CLOSE_ATTEMPTS = 50;
    /** For an answer, which may get lost. */
    private static final int ANSWER_MILLIS = 50;
    private static final MethodDescriptor<byte[], byte[]> ECHO = method(MethodDescriptor.MethodType.UNARY, "echo");
    private static final MethodDescriptor<byte[], byte[]> EACH =
            method(MethodDescriptor.MethodType.BIDI_STREAMING, "each");

    /** The name of the threads that handle calls of gRPC's stubs, of victims and of bystanders. */
    static final String HANDLES = InjectedFault.VICTIM + " handles";

    private CallVictims() {
    }

    /** A client of one kind. */
    interface Talker extends Closeable {
        /** Asks something, and checks the answer. */
        void exchange(Random random) throws Exception;
    }

    /** Bytes as they are. */
    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static MethodDescriptor<byte[], byte[]> method(MethodDescriptor.MethodType type, String name) {
        return MethodDescriptor.<byte[], byte[]>newBuilder().setType(type).setFullMethodName("faults/" + name)
                .setRequestMarshaller(new Bytes()).setResponseMarshaller(new Bytes()).build();
    }

    /** Serves all kinds for ever: the ports, in their order. */
    static String serve() throws IOException {
        return rpcServer().listen(ANY_PORT).localAddress().getPort() + " "
                + rpcServer().datagrams().listen(ANY_PORT).localAddress().getPort() + " " + serveStubs() + " "
                + serveDatagrams();
    }

    private static RpcServer.Builder rpcServer() {
        return RpcServer.builder().unary("echo", (request, call) -> request).streaming("each", call -> {
            for (byte[] one = call.receive(); one != null; one = call.receive()) {
                call.send(one);
            }
        });
    }

    /** Handlers run on threads that are meant to fail. */
    private static int serveStubs() throws IOException {
        return RdmaServerBuilder.forAddress(ANY_PORT)
                .executor(Executors.newThreadPerTaskExecutor(
                        Thread.ofVirtual().name(HANDLES).factory()))
                .addService(ServerServiceDefinition.builder("faults")
                        .addMethod(ECHO, ServerCalls.asyncUnaryCall((request, answers) -> {
                            answers.onNext(request);
                            answers.onCompleted();
                        }))
                        .addMethod(EACH, ServerCalls.asyncBidiStreamingCall(CallVictims::echoEach)).build())
                .build().start().getPort();
    }

    private static StreamObserver<byte[]> echoEach(StreamObserver<byte[]> answers) {
        return new StreamObserver<>() {
            @Override
            public void onNext(byte[] request) {
                answers.onNext(request);
            }

            @Override
            public void onError(Throwable failure) {
                answers.onError(Status.CANCELLED.asRuntimeException());
            }

            @Override
            public void onCompleted() {
                answers.onCompleted();
            }
        };
    }

    /** By a thread that is meant to fail, as an application that catches everything. */
    private static int serveDatagrams() throws IOException {
        RdmaDatagramSocket socket = new RdmaDatagramSocket(ANY_PORT);
        Thread.ofPlatform().daemon().name(InjectedFault.VICTIM + " echoes").start(() -> {
            DatagramPacket packet = new DatagramPacket(new byte[DATAGRAM_BYTES], DATAGRAM_BYTES);
            while (true) {
                try {
                    packet.setLength(DATAGRAM_BYTES);
                    socket.receive(packet);
                    socket.send(packet);
                } catch (Throwable e) {
                    System.err.println("an echo of a datagram fails: " + FaultNode.text(e));
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
                }
            }
        });
        return socket.getLocalPort();
    }

    /** A client, with which nothing takes longer than patience lasts. */
    static Talker open(String kind, int port, Duration patience) throws IOException {
        InetSocketAddress server = new InetSocketAddress(ANY_PORT.getAddress(), port);
        return switch (kind) {
            case "CALLS" -> new Calls(RpcClient.builder().retryTime(patience).connect(server), patience);
            case "SESSIONS" -> new Calls(RpcClient.builder().retryTime(patience).datagrams().connect(server),
                    patience);
            case "STUBS" -> new Stubs(RdmaChannelBuilder.forAddress("127.0.0.1", port).build(), patience);
            default -> new Datagrams(new RdmaDatagramSocket(ANY_PORT), server, patience);
        };
    }

    /** Makes a client and asks, and tells how that went. */
    static String fare(String kind, int port, Random random, Duration patience) {
        Talker talker = null;
        String outcome;
        try {
            talker = open(kind, port, patience);
            for (int i = random.nextInt(MOST_EXCHANGES); i >= 0; i--) {
                talker.exchange(random);
            }
            outcome = "done";
        } catch (Throwable e) {
            outcome = (isHung(e) ? "HUNG " : "failed: ") + FaultNode.text(e);
        }
        String closing = talker == null ? null : close(talker);
        return closing == null ? outcome : closing;
    }

    private static boolean isHung(Throwable e) {
        return e instanceof SocketTimeoutException
                || e instanceof RpcException call && call.status() == RpcStatus.DEADLINE_EXCEEDED
                || Status.fromThrowable(e).getCode() == Status.Code.DEADLINE_EXCEEDED;
    }

    /** Null once it is closed, else what is wrong. */
    static String close(Talker talker) {
        Throwable last = null;
        for (int attempt = 0; attempt < CLOSE_ATTEMPTS; attempt++) {
            try {
                talker.close();
                return null;
            } catch (Throwable e) {
                last = e;
            }
        }
        if (last instanceof StackOverflowError) { // an application closes it further up
            String[] closing = new String[1];
            try {
                Thread.ofPlatform().start(() -> closing[0] = close(talker)).join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e); // no thread interrupts this one
            }
            return closing[0];
        }
        return "HUNG in its close: " + FaultNode.text(last);
    }

    private static byte[] bytes(Random random) {
        byte[] bytes = new byte[random.nextInt(random.nextInt(8) == 0 ? LONG_BYTES : SHORT_BYTES)];
        random.nextBytes(bytes);
        return bytes;
    }

    private static void check(byte[] sent, byte[] back) throws IOException {
        if (!Arrays.equals(sent, back)) {
            throw new IOException("WRONG BYTES");
        }
    }

    /** Calls over connections or sessions. */
    private record Calls(RpcClient client, Duration patience) implements Talker {
        @Override
        public void exchange(Random random) throws Exception {
            RpcOptions options = RpcOptions.DEFAULT.timeout(patience).idempotent(random.nextBoolean());
            byte[] request = bytes(random);
            switch (random.nextInt(4)) {
                case 0 -> stream(request, random.nextInt(5), options);
                case 1 -> together(request, options);
                default -> check(request, client.call("echo", request, options));
            }
        }

        private void stream(byte[] request, int messages, RpcOptions options) throws IOException {
            try (RpcClientCall call = client.open("each", options)) {
                for (int i = 0; i < messages; i++) {
                    call.send(request);
                    check(request, call.receive());
                }
                if (messages != 1) { // else it is given up
                    call.halfClose();
                    if (call.receive() != null) {
                        throw new IOException("WRONG BYTES after the end");
                    }
                }
            }
        }

        private void together(byte[] request, RpcOptions options) throws IOException {
            List<RpcPending> pending = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                pending.add(client.begin("echo", request, options));
            }
            pending.removeFirst().cancel();
            for (RpcPending one : pending) {
                check(request, one.await());
            }
        }

        @Override
        public void close() {
            client.close();
        }
    }

    /** Calls by gRPC's stubs. */
    private record Stubs(ManagedChannel channel, Duration patience) implements Talker {
        @Override
        public void exchange(Random random) throws Exception {
            CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(patience.toMillis(), TimeUnit.MILLISECONDS);
            byte[] request = bytes(random);
            if (random.nextInt(3) > 0) {
                check(request, ClientCalls.blockingUnaryCall(channel, ECHO, options, request));
                return;
            }
            BlockingClientCall<byte[], byte[]> call = ClientCalls.blockingBidiStreamingCall(channel, EACH, options);
            for (int i = random.nextInt(4); i > 0; i--) {
                call.write(request);
                check(request, call.read());
            }
            if (random.nextInt(4) == 0) {
                giveUp(call);
                return;
            }
            call.halfClose();
            if (call.read() != null) {
                throw new IOException("WRONG BYTES after the end");
            }
        }

        /** The end runs on the thread that reads. */
        private static void giveUp(BlockingClientCall<byte[], byte[]> call) throws Exception {
            call.cancel("given up", null);
            try {
                call.read();
                throw new IOException("WRONG ANSWER of a call that was given up");
            } catch (StatusException e) {
                if (e.getStatus().getCode() != Status.Code.CANCELLED) {
                    throw e;
                }
            }
        }

        @Override
        public void close() throws IOException {
            channel.shutdownNow();
            try {
                if (!channel.awaitTermination(patience.toMillis(), TimeUnit.MILLISECONDS)) {
                    throw new IOException("the channel does not end");
                }
            } catch (InterruptedException e) {
                throw new InterruptedIOException("interrupted");
            }
        }
    }

    /** Datagrams, which are sent again until they are answered. */
    private record Datagrams(RdmaDatagramSocket socket, InetSocketAddress server, Duration patience)
            implements Talker {
        @Override
        public void exchange(Random random) throws Exception {
            byte[] sent = new byte[Long.BYTES + random.nextInt(DATAGRAM_BYTES - Long.BYTES)];
            random.nextBytes(sent);
            long number = ByteBuffer.wrap(sent).getLong();
            socket.setSoTimeout(ANSWER_MILLIS);
            long deadline = System.nanoTime() + patience.toNanos();
            while (System.nanoTime() - deadline < 0) {
                socket.send(new DatagramPacket(sent, sent.length, server));
                DatagramPacket packet = new DatagramPacket(new byte[DATAGRAM_BYTES], DATAGRAM_BYTES);
                try {
                    do {
                        socket.receive(packet);
                    } while (ByteBuffer.wrap(packet.getData()).getLong() != number); // one that was answered twice
                    check(sent, Arrays.copyOf(packet.getData(), packet.getLength()));
                    return;
                } catch (SocketTimeoutException e) {
                    continue; // it, or its answer, is lost
                }
            }
            throw new SocketTimeoutException("no datagram was answered");
        }

        @Override
        public void close() {
            socket.close();
        }
    }
}
