package org.rdmasockets.overflow;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assertions;
import org.rdmasockets.grpc.RdmaChannelBuilder;
import org.rdmasockets.grpc.RdmaServerBuilder;

/** Calls of gRPC over endpoints or over datagrams. */
final class GrpcScene extends Scene {
    private static final int BYTES = 64;
    static final MethodDescriptor<byte[], byte[]> ECHO = MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("overflow/echo")
            .setRequestMarshaller(new Bytes()).setResponseMarshaller(new Bytes()).build();

    private final boolean datagrams;
    private final Server server;
    private final List<ManagedChannel> others = new ArrayList<>();

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

    /** Takes what comes. */
    private static final class Listener extends ClientCall.Listener<byte[]> {
    }

    GrpcScene(boolean datagrams) throws IOException {
        this.datagrams = datagrams;
        server = server().start();
        for (int i = 0; i < 4; i++) {
            others.add(channel(server));
        }
    }

    private Server server() {
        RdmaServerBuilder builder = RdmaServerBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        return (datagrams ? builder.datagrams() : builder).addService(ServerServiceDefinition.builder("overflow")
                .addMethod(ECHO, ServerCalls.asyncUnaryCall((request, answers) -> {
                    answers.onNext(request);
                    answers.onCompleted();
                })).build()).build();
    }

    private ManagedChannel channel(Server of) {
        RdmaChannelBuilder builder = RdmaChannelBuilder.forAddress("127.0.0.1", of.getPort());
        return (datagrams ? builder.datagrams() : builder).build();
    }

    private static void talk(ManagedChannel channel) {
        byte[] answer = ClientCalls.blockingUnaryCall(channel, ECHO,
                CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS), new byte[BYTES]);
        Assertions.assertEquals(BYTES, answer.length);
    }

    @Override
    void bystanders() {
        others.forEach(GrpcScene::talk);
    }

    @Override
    void newcomer() {
        ManagedChannel one = channel(server);
        talk(one);
        one.shutdownNow();
    }

    private ManagedChannel subject() {
        ManagedChannel made = channel(server);
        keep(made::shutdownNow);
        value(() -> ECHO);
        value(() -> CallOptions.DEFAULT);
        value(() -> ConnectivityState.READY);
        value(Listener::new);
        value(Metadata::new);
        value(() -> new IOException("over"));
        value(() -> new byte[BYTES]);
        talk(made);
        return made;
    }

    @Override
    List<Subject> subjects() {
        return List.of(new Subject(this::subject, one -> talk((ManagedChannel) one)),
                new Subject(() -> {
                    ClientCall<byte[], byte[]> call = subject().newCall(ECHO, CallOptions.DEFAULT);
                    call.start(new Listener(), new Metadata());
                    call.request(1);
                    return call;
                }, one -> ((ClientCall<?, ?>) one).cancel("over", null)),
                new Subject(() -> {
                    Server made = server().start();
                    keep(made::shutdownNow);
                    return made;
                }, one -> {
                    ManagedChannel channel = channel((Server) one);
                    keep(channel::shutdownNow);
                    talk(channel);
                }, "awaitTermination/0"));
    }

    @Override
    void end() throws Exception {
        super.end();
        others.forEach(ManagedChannel::shutdownNow);
        server.shutdownNow();
    }
}
