package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.HandlerRegistry;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.SecurityLevel;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallExecutorSupplier;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.interop.TestBed;

/** Calls below gRPC's stubs: first over Netty, which decides, then over a channel of each kind. */
@ParameterizedClass
@ValueSource(strings = {"netty", "channel", "core"})
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallsAsOverNettyTest {
    private static final Context.Key<String> PLACE = Context.key("place");
    /** Texts, of which "error" and "exception" throw those when they are sent. */
    private static final MethodDescriptor.Marshaller<String> TEXT = new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(String text) {
            if (text.equals("error")) {
                throw new AssertionError("says the test");
            } else if (text.equals("exception")) {
                throw new IllegalStateException("says the test");
            }
            return new ByteArrayInputStream(text.getBytes(StandardCharsets.US_ASCII));
        }

        @Override
        public String parse(InputStream text) {
            try {
                return new String(text.readAllBytes(), StandardCharsets.US_ASCII);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    };

    @Parameter
    private String transport;

    private Server server;
    private ManagedChannel channel;
    /** The listeners of the server's calls. */
    private final BlockingQueue<Served> served = new LinkedBlockingQueue<>();

    private static MethodDescriptor<String, String> method(MethodType type) {
        return MethodDescriptor.newBuilder(TEXT, TEXT).setType(type).setFullMethodName("test/" + type).build();
    }

    /** A call at its server, which notes all that it hears, and answers when the client has said all. */
    private static class Served extends ServerCall.Listener<String> {
        final ServerCall<String, String> call;
        private final List<String> heard = Collections.synchronizedList(new ArrayList<>());
        private final CompletableFuture<List<String>> end = new CompletableFuture<>();

        Served(ServerCall<String, String> call) {
            this.call = call;
        }

        private void hear(String what) {
            heard.add(PLACE.get() == null ? what : what + " at " + PLACE.get());
        }

        @Override
        public void onReady() {
            hear("ready");
        }

        @Override
        public void onMessage(String message) {
            hear(message);
        }

        @Override
        public void onHalfClose() {
            hear("half-close");
            call.sendHeaders(new Metadata());
            call.sendMessage("answer");
            call.close(Status.OK, new Metadata());
        }

        @Override
        public void onCancel() {
            hear("cancel");
            end.complete(heard);
        }

        @Override
        public void onComplete() {
            hear("complete");
            end.complete(heard);
        }

        List<String> all() throws Exception {
            return end.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** A call at its client, which notes all that it hears. */
    private static class Made extends ClientCall.Listener<String> {
        private final List<String> heard = Collections.synchronizedList(new ArrayList<>());
        private final CompletableFuture<Status> end = new CompletableFuture<>();

        void hear(String what) {
            heard.add(PLACE.get() == null ? what : what + " at " + PLACE.get());
        }

        @Override
        public void onReady() {
            hear("ready");
        }

        @Override
        public void onHeaders(Metadata headers) {
            hear("headers");
        }

        @Override
        public void onMessage(String message) {
            hear(message);
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            hear(status.getCode().toString());
            end.complete(status);
        }

        Status status() throws Exception {
            return end.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        }

        List<String> all() throws Exception {
            status();
            return heard;
        }
    }

    private ServerBuilder<?> server() {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        return transport.equals("netty") ? NettyServerBuilder.forAddress(any) : RdmaServerBuilder.forAddress(any);
    }

    private void start(ServerBuilder<?> builder) throws IOException {
        server = builder.build();
        assertThrows(IllegalStateException.class, server::getPort);
        assertThrows(IllegalStateException.class, server::getListenSockets);
        server.start();
        ManagedChannelBuilder<?> channels = transport.equals("netty")
                ? NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext()
                : RdmaChannelBuilder.forAddress("127.0.0.1", server.getPort());
        if (transport.equals("core")) {
            channels.idleTimeout(1, TimeUnit.HOURS);
        }
        channel = channels.overrideAuthority("example.org").build();
    }

    /** Of services with the same name the last counts. */
    private void serve(ServerCallHandler<String, String> handler) throws IOException {
        start(server().addService(service((call, headers) -> {
            throw new AssertionError("another service has its name");
        })).addService(service(handler)));
    }

    private static ServerServiceDefinition service(ServerCallHandler<String, String> handler) {
        ServerServiceDefinition.Builder service = ServerServiceDefinition.builder("test");
        for (MethodType type : MethodType.values()) {
            if (type != MethodType.UNKNOWN) {
                service.addMethod(method(type), handler);
            }
        }
        return service.build();
    }

    private Served note(Served call) {
        served.add(call);
        return call;
    }

    private Served answer(ServerCall<String, String> call, Metadata headers) {
        call.request(2);
        return note(new Served(call));
    }

    private Served served() throws InterruptedException {
        return served.poll(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
    }

    private ClientCall<String, String> begin(MethodType type, Made listener) {
        ClientCall<String, String> call = channel.newCall(method(type), CallOptions.DEFAULT);
        call.start(listener, new Metadata());
        call.request(2);
        return call;
    }

    /** Calls with one request, and half-closes at once. */
    private Made call(MethodType type) {
        Made made = new Made();
        ClientCall<String, String> call = begin(type, made);
        call.sendMessage("request");
        call.halfClose();
        assertFalse(call.isReady());
        return made;
    }

    @AfterEach
    void end() throws Exception {
        channel.shutdownNow();
        assertTrue(channel.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the channel ends");
        server.shutdownNow();
        assertTrue(server.awaitTermination(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), "the server ends");
    }

    @Test
    void bothEndsHearOfTheSameInTheSameOrder() throws Exception {
        serve(this::answer);
        for (MethodType type : List.of(MethodType.UNARY, MethodType.SERVER_STREAMING)) {
            assertEquals(List.of("headers", "answer", "OK"), call(type).all(), type::toString);
            assertEquals(List.of("ready", "request", "half-close", "complete"), served().all(), type::toString);
        }
        for (MethodType type : List.of(MethodType.CLIENT_STREAMING, MethodType.BIDI_STREAMING)) {
            assertEquals(List.of("ready", "headers", "answer", "OK"), call(type).all(), type::toString);
            assertEquals(List.of("ready", "request", "half-close", "complete"), served().all(), type::toString);
        }
    }

    @Test
    void aCallThatEndsWhereItBeginsIsReadyFirstAtItsServer() throws Exception {
        serve((call, headers) -> {
            call.close(Status.UNAVAILABLE, new Metadata());
            return note(new Served(call));
        });
        for (MethodType type : MethodType.values()) {
            if (type != MethodType.UNKNOWN) {
                assertEquals(Status.Code.UNAVAILABLE, call(type).status().getCode(), type::toString);
                assertEquals(List.of("ready", "complete"), served().all(), type::toString);
            }
        }
    }

    @Test
    void aCallThatIsUsedWronglyAtItsClientSaysSo() throws Exception {
        serve(this::answer);
        call(MethodType.UNARY).all(); // a channel of gRPC's checks less before it has its name resolved
        ClientCall<String, String> call = channel.newCall(method(MethodType.BIDI_STREAMING), CallOptions.DEFAULT);
        assertThrows(IllegalStateException.class, () -> call.request(1));
        assertThrows(IllegalStateException.class, () -> call.sendMessage("request"));
        assertThrows(IllegalStateException.class, call::halfClose);
        Made made = new Made();
        call.start(made, new Metadata());
        assertThrows(IllegalStateException.class, () -> call.start(made, new Metadata()));
        assertThrows(IllegalArgumentException.class, () -> call.request(-1));
        call.halfClose();
        assertThrows(IllegalStateException.class, call::halfClose);
        assertThrows(IllegalStateException.class, () -> call.sendMessage("request"));
        call.request(2);
        assertEquals(Status.Code.OK, made.status().getCode());
        call.request(1);
        call.cancel("too late", null);
        ClientCall<String, String> cancelled = channel.newCall(method(MethodType.UNARY), CallOptions.DEFAULT);
        cancelled.cancel("before the start", null);
        assertThrows(IllegalStateException.class, () -> cancelled.start(new Made(), new Metadata()));
    }

    @Test
    void aCallThatIsUsedWronglyAtItsServerSaysSo() throws Exception {
        List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
        serve((call, headers) -> {
            try {
                assertThrows(IllegalStateException.class, () -> call.sendMessage("answer"));
                assertThrows(IllegalArgumentException.class, () -> call.setCompression("rar"));
                call.sendHeaders(new Metadata());
                assertThrows(IllegalStateException.class, () -> call.sendHeaders(new Metadata()));
                assertThrows(IllegalStateException.class, () -> call.setCompression("gzip"));
                assertEquals("example.org", call.getAuthority());
                assertEquals(SecurityLevel.NONE, call.getSecurityLevel());
                assertNotNull(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
                assertNotNull(call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR));
                assertNull(call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION));
                call.sendMessage("answer");
                call.close(Status.OK, new Metadata());
                assertFalse(call.isReady());
                assertThrows(IllegalStateException.class, () -> call.close(Status.OK, new Metadata()));
                assertThrows(IllegalStateException.class, () -> call.sendMessage("answer"));
                assertThrows(IllegalStateException.class, () -> call.sendHeaders(new Metadata()));
                assertFalse(call.isCancelled());
            } catch (RuntimeException | AssertionError e) {
                wrong.add(e);
            }
            return note(new Served(call));
        });
        for (MethodType type : List.of(MethodType.UNARY, MethodType.BIDI_STREAMING)) {
            assertEquals(Status.Code.OK, call(type).status().getCode());
            served();
            assertEquals(List.of(), wrong);
        }
    }

    /** One that is not sent would leave its peer waiting. */
    @Test
    void aMessageThatCannotBeSentEndsItsCall() throws Exception {
        CompletableFuture<AssertionError> thrown = new CompletableFuture<>();
        serve((call, headers) -> {
            call.request(1);
            return new Served(call) {
                @Override
                public void onMessage(String message) {
                    Thread.ofPlatform().daemon().start(() -> {
                        call.sendHeaders(new Metadata());
                        thrown.complete(assertThrows(AssertionError.class, () -> call.sendMessage("error")));
                    });
                }
            };
        });
        for (MethodType type : List.of(MethodType.UNARY, MethodType.BIDI_STREAMING)) {
            Made made = new Made();
            begin(type, made).sendMessage("exception");
            assertEquals(Status.Code.CANCELLED, made.status().getCode());
            assertEquals("Failed to stream message", made.status().getDescription());
            Made other = new Made();
            ClientCall<String, String> call = begin(type, other);
            assertEquals("says the test", assertThrows(AssertionError.class, () -> call.sendMessage("error"))
                    .getMessage());
            assertEquals(Status.Code.CANCELLED, other.status().getCode());
            assertEquals("Client sendMessage() failed with Error", other.status().getDescription());
        }
        Made made = new Made();
        begin(MethodType.BIDI_STREAMING, made).sendMessage("request");
        assertEquals(Status.Code.CANCELLED, made.status().getCode());
        assertEquals("Server sendMessage() failed with Error", made.status().getDescription());
        assertEquals("says the test", thrown.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS).getMessage());
    }

    /** Knows one method, and throws for others. */
    private static HandlerRegistry registry(ServerServiceDefinition service, BlockingQueue<String> asked) {
        return new HandlerRegistry() {
            @Override
            public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
                asked.add(name + " of " + authority);
                switch (name) {
                    case "test/CLIENT_STREAMING" -> throw Status.PERMISSION_DENIED.withDescription("not this")
                            .asRuntimeException();
                    case "test/UNARY" -> throw new IllegalStateException("says the test");
                    case "test/SERVER_STREAMING" -> {
                        return null;
                    }
                    default -> {
                        return service.getMethod(name);
                    }
                }
            }
        };
    }

    @Test
    void aFallbackHearsOfTheAuthorityAndCostsOneCallIfItThrows() throws Exception {
        BlockingQueue<String> asked = new LinkedBlockingQueue<>();
        start(server().fallbackHandlerRegistry(registry(service(this::answer), asked)));
        Made made = new Made();
        ClientCall<String, String> call = begin(MethodType.BIDI_STREAMING, made);
        Served running = served();
        assertEquals("test/BIDI_STREAMING of example.org", asked.poll(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        assertEquals(Status.Code.UNIMPLEMENTED, call(MethodType.SERVER_STREAMING).status().getCode());
        assertEquals(Status.Code.UNKNOWN, call(MethodType.UNARY).status().getCode());
        Status denied = call(MethodType.CLIENT_STREAMING).status();
        assertEquals(Status.Code.PERMISSION_DENIED, denied.getCode());
        assertEquals("not this", denied.getDescription());
        call.halfClose();
        assertEquals(List.of("ready", "headers", "answer", "OK"), made.all());
        assertEquals(List.of("ready", "half-close", "complete"), running.all());
    }

    @Test
    void aListenerOfAClientThatThrowsEndsItsCall() throws Exception {
        serve(this::answer);
        for (String where : List.of("ready", "headers", "answer")) {
            Made made = new Made() {
                @Override
                void hear(String what) {
                    super.hear(what);
                    if (what.equals(where)) {
                        throw new IllegalStateException("says the test");
                    }
                }
            };
            begin(MethodType.BIDI_STREAMING, made).halfClose();
            Status status = made.status();
            assertEquals(Status.Code.CANCELLED, status.getCode());
            assertEquals("says the test", status.getCause().getMessage());
            List<String> heard = made.all();
            assertEquals(where, heard.get(heard.size() - 2), heard::toString);
        }
    }

    /** It may have freed something, or called others. */
    @Test
    void aListenerHearsOfTheEndOnceAlsoIfItFindsNoMemory() throws Exception {
        serve(this::answer);
        for (MethodType type : List.of(MethodType.UNARY, MethodType.CLIENT_STREAMING)) {
            Made made = new Made() {
                @Override
                public void onClose(Status status, Metadata trailers) {
                    super.onClose(status, trailers);
                    throw new OutOfMemoryError("says the test");
                }
            };
            try (ExecutorService executor = Executors.newSingleThreadExecutor()) { // its close waits for all tasks
                ClientCall<String, String> call = channel.newCall(method(type),
                        CallOptions.DEFAULT.withExecutor(executor));
                call.start(made, new Metadata());
                call.request(2);
                call.sendMessage("request");
                call.halfClose();
                made.status();
            }
            List<String> heard = made.all();
            assertEquals(List.of("headers", "answer", "OK"), heard.subList(heard.indexOf("headers"), heard.size()));
        }
    }

    @Test
    void aSupplierOfExecutorsThatThrowsCostsOneCall() throws Exception {
        start(server().addService(service(this::answer)).callExecutor(new ServerCallExecutorSupplier() {
            @Override
            public <Q, A> Executor getExecutor(ServerCall<Q, A> call, Metadata headers) {
                if (call.getMethodDescriptor().getType() == MethodType.UNARY) {
                    throw new IllegalStateException("says the test");
                }
                return null;
            }
        }));
        Made made = new Made();
        ClientCall<String, String> call = begin(MethodType.BIDI_STREAMING, made);
        Served running = served();
        assertEquals(Status.Code.UNKNOWN, call(MethodType.UNARY).status().getCode());
        call.halfClose();
        assertEquals(List.of("ready", "headers", "answer", "OK"), made.all());
        assertEquals(List.of("ready", "half-close", "complete"), running.all());
    }

    @Test
    void callbacksHaveTheContextOfTheirEnd() throws Exception {
        ServerInterceptor placing = new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
                    ServerCallHandler<Q, A> next) {
                assertNull(PLACE.get());
                return Contexts.interceptCall(Context.current().withValue(PLACE, "server"), call, headers, next);
            }
        };
        start(server().addService(service(this::answer)).intercept(placing));
        for (MethodType type : List.of(MethodType.UNARY, MethodType.BIDI_STREAMING)) {
            Made made = Context.current().withValue(PLACE, "client").call(() -> call(type));
            List<String> heard = made.all();
            assertEquals(List.of("headers at client", "answer at client", "OK at client"),
                    heard.subList(heard.size() - 3, heard.size()));
            assertEquals(List.of("ready at server", "request at server", "half-close at server", "complete at server"),
                    served().all());
        }
    }

    @Test
    void aCallThatItsClientCancelsTakesNoMoreAndThrowsNothing() throws Exception {
        CompletableFuture<Boolean> cancelled = new CompletableFuture<>();
        serve((call, headers) -> note(new Served(call) {
            @Override
            public void onCancel() {
                cancelled.complete(call.isCancelled()); // Netty cancels the context on another thread
                super.onCancel();
            }
        }));
        Made made = new Made();
        ClientCall<String, String> call = begin(MethodType.BIDI_STREAMING, made);
        Served one = served();
        call.cancel("enough", new TimeoutException("says the test"));
        assertEquals(Status.Code.CANCELLED, made.status().getCode());
        assertEquals("enough", made.status().getDescription());
        assertEquals("says the test", made.status().getCause().getMessage());
        assertEquals("cancel", one.all().getLast());
        assertTrue(cancelled.get(TestBed.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        assertFalse(one.call.isReady());
        one.call.sendHeaders(new Metadata());
        one.call.sendMessage("answer");
        one.call.close(Status.OK, new Metadata());
    }

    @Test
    void aCallHasItsOwnAuthorityAndAttributes() throws Exception {
        serve(this::answer);
        Made made = new Made();
        ClientCall<String, String> call = channel.newCall(method(MethodType.UNARY), CallOptions.DEFAULT
                .withAuthority("other.org"));
        call.start(made, new Metadata());
        call.request(1);
        call.sendMessage("request");
        call.halfClose();
        assertEquals(Status.Code.OK, made.status().getCode());
        assertEquals("other.org", served().call.getAuthority());
        assertNotNull(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
    }
}
