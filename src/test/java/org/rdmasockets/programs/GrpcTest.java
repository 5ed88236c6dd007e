package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.okhttp.OkHttpChannelBuilder;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.RdmaServerSocketFactory;
import org.rdmasockets.RdmaSocketFactory;
import org.rdmasockets.interop.TestBed;

/** gRPC over the socket factories, by its OkHttp transport at both ends: every kind of call, and TLS. */
class GrpcTest {
    private static final int MANY = 1000;
    private static final int LARGE = 1_000_003;

    @TempDir
    private Path directory;
    private Server server;
    private ManagedChannel channel;

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

    /** Keeps what comes, until the end. */
    private static final class Kept implements StreamObserver<byte[]> {
        private final List<byte[]> come = new ArrayList<>();
        private final CompletableFuture<List<byte[]>> all = new CompletableFuture<>();

        @Override
        public void onNext(byte[] value) {
            come.add(value);
        }

        @Override
        public void onError(Throwable failure) {
            all.completeExceptionally(failure);
        }

        @Override
        public void onCompleted() {
            all.complete(come);
        }

        List<byte[]> await() throws Exception {
            return all.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** Where client and server meet. */
    Place place() {
        return Place.here().orSkip();
    }

    private static MethodDescriptor<byte[], byte[]> method(MethodType type) {
        return MethodDescriptor.newBuilder(new Bytes(), new Bytes()).setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName("Test", type.name())).build();
    }

    private void connect(ServerCredentials serverCredentials, ChannelCredentials clientCredentials) throws Exception {
        Place place = place();
        server = OkHttpServerBuilder.forPort(new InetSocketAddress(place.address(), 0), serverCredentials)
                .socketFactory(new RdmaServerSocketFactory(place.transport())).addService(service()).build().start();
        channel = OkHttpChannelBuilder.forAddress(place.host(), server.getPort(), clientCredentials)
                .socketFactory(new RdmaSocketFactory(place.transport())).build();
    }

    private void connect() throws Exception {
        connect(InsecureServerCredentials.create(), InsecureChannelCredentials.create());
    }

    @AfterEach
    void end() throws Exception {
        if (channel != null) {
            channel.shutdownNow().awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        }
        if (server != null) {
            server.shutdownNow().awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** Echoes; a stream of answers numbers them; a stream of requests is answered by their number. */
    private static ServerServiceDefinition service() {
        return ServerServiceDefinition.builder("Test")
                .addMethod(method(MethodType.UNARY), ServerCalls.<byte[], byte[]>asyncUnaryCall((request, answers) -> {
                    answers.onNext(request);
                    answers.onCompleted();
                }))
                .addMethod(method(MethodType.SERVER_STREAMING),
                        ServerCalls.<byte[], byte[]>asyncServerStreamingCall((request, answers) -> {
                            int count = ByteBuffer.wrap(request).getInt();
                            for (int i = 0; i < count; i++) {
                                answers.onNext(number(i));
                            }
                            answers.onCompleted();
                        }))
                .addMethod(method(MethodType.CLIENT_STREAMING),
                        ServerCalls.<byte[], byte[]>asyncClientStreamingCall(answers -> new Answering(answers, false)))
                .addMethod(method(MethodType.BIDI_STREAMING),
                        ServerCalls.<byte[], byte[]>asyncBidiStreamingCall(answers -> new Answering(answers, true)))
                .build();
    }

    private static byte[] number(int value) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
    }

    /** Takes requests, and echoes them or counts them. */
    private static final class Answering implements StreamObserver<byte[]> {
        private final StreamObserver<byte[]> answers;
        private final boolean echo;
        private int count;

        Answering(StreamObserver<byte[]> answers, boolean echo) {
            this.answers = answers;
            this.echo = echo;
        }

        @Override
        public void onNext(byte[] request) {
            count++;
            if (echo) {
                answers.onNext(request);
            }
        }

        @Override
        public void onError(Throwable failure) {
            answers.onError(failure);
        }

        @Override
        public void onCompleted() {
            if (!echo) {
                answers.onNext(number(count));
            }
            answers.onCompleted();
        }
    }

    private byte[] call(byte[] request) {
        return ClientCalls.blockingUnaryCall(channel, method(MethodType.UNARY), CallOptions.DEFAULT, request);
    }

    @Test
    void unaryCalls() throws Exception {
        connect();
        for (int length : new int[] {0, 1, 64, 16_384, 100_001, LARGE}) {
            byte[] request = new byte[length];
            new Random(length).nextBytes(request);
            assertArrayEquals(request, call(request));
        }
        for (int i = 0; i < MANY; i++) {
            assertArrayEquals(number(i), call(number(i)));
        }
    }

    @Test
    void streamsOfAnswers() throws Exception {
        connect();
        Iterator<byte[]> answers = ClientCalls.blockingServerStreamingCall(channel,
                method(MethodType.SERVER_STREAMING), CallOptions.DEFAULT, number(MANY));
        for (int i = 0; i < MANY; i++) {
            assertArrayEquals(number(i), answers.next());
        }
        assertEquals(false, answers.hasNext());
    }

    @Test
    void streamsOfRequests() throws Exception {
        connect();
        Kept answer = new Kept();
        StreamObserver<byte[]> requests = ClientCalls.asyncClientStreamingCall(
                channel.newCall(method(MethodType.CLIENT_STREAMING), CallOptions.DEFAULT), answer);
        for (int i = 0; i < MANY; i++) {
            requests.onNext(number(i));
        }
        requests.onCompleted();
        assertArrayEquals(number(MANY), answer.await().getFirst());
    }

    @Test
    void streamsBothWays() throws Exception {
        connect();
        Kept answers = new Kept();
        StreamObserver<byte[]> requests = ClientCalls.asyncBidiStreamingCall(
                channel.newCall(method(MethodType.BIDI_STREAMING), CallOptions.DEFAULT), answers);
        for (int i = 0; i < MANY; i++) {
            requests.onNext(number(i));
        }
        requests.onCompleted();
        List<byte[]> come = answers.await();
        assertEquals(MANY, come.size());
        for (int i = 0; i < MANY; i++) {
            assertArrayEquals(number(i), come.get(i));
        }
    }

    /** A client without a certificate is turned away. */
    @Test
    void bothSidesShowACertificate() throws Exception {
        TlsKeys keys = TlsKeys.make(directory.resolve("server"), place().host());
        TlsKeys clients = TlsKeys.make(directory.resolve("client"), place().host());
        ServerCredentials demanding = TlsServerCredentials.newBuilder().keyManager(keys.keys())
                .trustManager(clients.trust()).clientAuth(TlsServerCredentials.ClientAuth.REQUIRE).build();
        connect(demanding, TlsChannelCredentials.newBuilder().keyManager(clients.keys()).trustManager(keys.trust())
                .build());
        assertArrayEquals(number(7), call(number(7)));
        end();
        connect(demanding, TlsChannelCredentials.newBuilder().trustManager(keys.trust()).build());
        assertThrows(StatusRuntimeException.class, () -> call(number(8)));
    }
}
