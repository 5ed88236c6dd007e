package org.rdmasockets.grpc;

import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.BinaryLog;
import io.grpc.CompressorRegistry;
import io.grpc.Context;
import io.grpc.DecompressorRegistry;
import io.grpc.HandlerRegistry;
import io.grpc.InternalChannelz;
import io.grpc.InternalChannelz.ServerStats;
import io.grpc.InternalInstrumented;
import io.grpc.InternalLogId;
import io.grpc.InternalServer;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCallExecutorSupplier;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.rpc.RpcDatagrams;
import org.rdmasockets.rpc.RpcMetadata;
import org.rdmasockets.internal.rpc.call.CallMethod;
import org.rdmasockets.internal.rpc.call.CallServer;
import org.rdmasockets.internal.rpc.call.CallStream;
import org.rdmasockets.internal.rpc.call.EndpointCarrier;
import org.rdmasockets.internal.rpc.session.SessionHub;

/** A gRPC server over a server of calls. */
final class RdmaServer extends Server implements InternalInstrumented<ServerStats> {
    private final InetSocketAddress local;
    private final RpcDatagrams datagrams;
    private final CallServer.Settings settings;
    private final CallServer.Aging aging;
    private final Serving serving;
    private final Methods known;
    /** By their full names. */
    private final Map<String, CallMethod> methods = new HashMap<>();
    private final InternalLogId id;
    /** Null before the start; guarded by this. */
    private CallServer server;
    private boolean shutdown;

    /**
     * All that is served: the builder's services, else the fallback, if any; the last interceptor runs first. The log
     * of calls is null for none.
     */
    record Methods(List<ServerServiceDefinition> services, HandlerRegistry fallback,
            List<ServerInterceptor> interceptors, BinaryLog log) {}

    /** How calls run: {@code executors} is null for none, {@code root} is the context of all. */
    record Serving(Executor executor, ServerCallExecutorSupplier executors, List<ServerStreamTracer.Factory> tracers,
            CompressorRegistry compressors, DecompressorRegistry decompressors, int maxMessage, int maxMetadata,
            Context root, CallCounts counts, LimitedLog failures) {
        /** The part that a builder knows: {@link #by} adds the server's. */
        Serving(Executor executor, ServerCallExecutorSupplier executors, List<ServerStreamTracer.Factory> tracers,
                CompressorRegistry compressors, DecompressorRegistry decompressors, int maxMetadata) {
            this(executor, executors, tracers, compressors, decompressors, 0, maxMetadata, Context.ROOT, null, null);
        }

        private Serving by(RdmaServer server) {
            return new Serving(executor, executors, tracers, compressors, decompressors, server.settings.maxMessage(),
                    maxMetadata, Context.ROOT.withValue(InternalServer.SERVER_CONTEXT_KEY, server),
                    new CallCounts(), new LimitedLog(new Log(RdmaServer.class)));
        }
    }

    /** Cancels contexts whose time is over; one daemon thread, of the first call with a deadline on. */
    static final class Deadlines {
        /** Where they wait. */
        static final ScheduledThreadPoolExecutor SCHEDULER = new ScheduledThreadPoolExecutor(1,
                task -> LibraryThreads.unstarted("rdma-grpc-deadlines", task));

        static {
            SCHEDULER.setRemoveOnCancelPolicy(true);
        }

        private Deadlines() {}
    }

    RdmaServer(InetSocketAddress local, RpcDatagrams datagrams, CallServer.Settings settings, CallServer.Aging aging,
            Serving serving, Methods known) {
        this.local = local;
        this.datagrams = datagrams;
        this.settings = settings;
        this.aging = aging;
        this.serving = serving.by(this);
        id = InternalLogId.allocate(Server.class, local.toString());
        this.known = known;
        for (ServerServiceDefinition service : known.services()) {
            for (ServerMethodDefinition<?, ?> method : service.getMethods()) {
                methods.put(method.getMethodDescriptor().getFullMethodName(), callMethod(intercepted(method)));
            }
        }
    }

    private <Q, A> ServerMethodDefinition<?, ?> intercepted(ServerMethodDefinition<Q, A> definition) {
        ServerCallHandler<Q, A> handler = definition.getServerCallHandler();
        for (ServerInterceptor interceptor : known.interceptors()) {
            ServerCallHandler<Q, A> next = handler;
            handler = (call, headers) -> interceptor.interceptCall(call, headers, next);
        }
        ServerMethodDefinition<Q, A> all = ServerMethodDefinition.create(definition.getMethodDescriptor(), handler);
        return known.log() == null ? all : known.log().wrapMethodDefinition(all);
    }

    private <Q, A> CallMethod.Running beginning(ServerMethodDefinition<Q, A> definition) {
        MethodDescriptor<Q, A> method = definition.getMethodDescriptor();
        ServerCallHandler<Q, A> handler = definition.getServerCallHandler();
        return stream -> new ServedCall<>(stream, method, handler, serving).begin();
    }

    private <Q, A> CallMethod callMethod(ServerMethodDefinition<Q, A> definition) {
        MethodDescriptor<Q, A> method = definition.getMethodDescriptor();
        ServerCallHandler<Q, A> handler = definition.getServerCallHandler();
        Executor executor = serving.executor();
        CallMethod.Running begins = beginning(definition);
        boolean here = serving.executors() == null
                && (executor instanceof Encoding.Virtual || executor == Encoding.DIRECT);
        if (here && method.getType() == MethodDescriptor.MethodType.UNARY) {
            return new CallMethod.Unary((stream, request) -> {
                new ServedCall<>(stream, method, handler, serving).runHere(request);
                return null;
            }, begins, false);
        }
        return new CallMethod.Begun(begins, method.getType().clientSendsOneMessage());
    }

    /** Ends a call of a method that is not there: its client and tracers hear that in gRPC's words. */
    private void unknown(CallStream stream) throws StatusException {
        Tracers tracers = Tracers.NONE;
        Status status = Status.UNIMPLEMENTED.withDescription("Method not found: " + stream.method());
        try {
            Metadata headers = Encoding.metadata(Encoding.arrived(stream.headers(), serving.maxMetadata()));
            tracers = Tracers.of(serving.tracers(), stream.method(), headers);
            tracers.filter(serving.root());
        } finally {
            try {
                tracers.closed(status); // before its client makes the next call
            } finally {
                Encoding.finish(stream, status);
            }
        }
    }

    /** A call of no service of the builder: the fallback knows its method, or none does. An exception ends the call. */
    private void fallBack(CallStream stream) throws Exception {
        RpcMetadata headers;
        try {
            headers = Encoding.arrived(stream.headers(), serving.maxMetadata());
        } catch (StatusException e) {
            Encoding.finish(stream, e.getStatus());
            return;
        }
        CallMethod.Running begins = this::unknown;
        try {
            ServerMethodDefinition<?, ?> found = known.fallback().lookupMethod(stream.method(),
                    headers.firstText(Encoding.AUTHORITY).orElse(null));
            if (found != null) {
                begins = beginning(intercepted(found));
            }
        } catch (Throwable e) {
            serving.failures().warn("the fallback gives no method {}", stream.method(), e);
            Encoding.finish(stream, Status.fromThrowable(e));
            return;
        }
        begins.run(stream);
    }

    private CallMethod lookup(String name) {
        CallMethod method = methods.get(name);
        return method == null ? new CallMethod.Begun(known.fallback() == null ? this::unknown : this::fallBack, false)
                : method;
    }

    @Override
    public synchronized Server start() throws IOException {
        if (server != null || shutdown) {
            throw new IllegalStateException(shutdown ? "the server is shut down" : "the server has started already");
        }
        int most = settings.maxMessage();
        server = CallServer.over(datagrams == null ? EndpointCarrier.listen(local, most)
                : SessionHub.listen(datagrams.bind(local), most), this::lookup, settings, aging);
        InternalChannelz.instance().addServer(this);
        return this;
    }

    private synchronized CallServer started() {
        return server;
    }

    /** Connections that are open now; for tests. */
    int connections() {
        return started().connections();
    }

    @Override
    public int getPort() {
        return bound().localAddress().getPort();
    }

    private CallServer bound() {
        CallServer now = started();
        if (now == null) {
            throw new IllegalStateException("the server has not started");
        }
        return now;
    }

    @Override
    public List<? extends SocketAddress> getListenSockets() {
        CallServer now = bound();
        return isShutdown() ? List.of() : List.of(now.localAddress());
    }

    @Override
    public List<ServerServiceDefinition> getServices() {
        List<ServerServiceDefinition> all = new ArrayList<>(known.services());
        all.addAll(getMutableServices());
        return all;
    }

    @Override
    public List<ServerServiceDefinition> getImmutableServices() {
        return known.services();
    }

    @Override
    public List<ServerServiceDefinition> getMutableServices() {
        return known.fallback() == null ? List.of() : known.fallback().getServices();
    }

    @Override
    public Server shutdown() {
        CallServer now = shut();
        if (now != null) {
            now.shutdown();
        }
        return this;
    }

    @Override
    public Server shutdownNow() {
        CallServer now = shut();
        if (now != null) {
            now.close();
        }
        return this;
    }

    private synchronized CallServer shut() {
        shutdown = true;
        notifyAll();
        if (InternalChannelz.instance().containsServer(id)) { // a further call finishes what an Error cut short
            InternalChannelz.instance().removeServer(this);
        }
        return server;
    }

    @Override
    public synchronized boolean isShutdown() {
        return shutdown;
    }

    @Override
    public boolean isTerminated() {
        try {
            return awaitTermination(0, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException {
        long end = System.nanoTime() + Math.min(unit.toNanos(time), Long.MAX_VALUE / 2);
        CallServer now;
        synchronized (this) {
            while (!shutdown) {
                long left = end - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
            now = server;
        }
        return now == null || now.awaitEnd(Math.max(0, end - System.nanoTime()));
    }

    @Override
    public void awaitTermination() throws InterruptedException {
        boolean ended = false;
        while (!ended) {
            ended = awaitTermination(1, TimeUnit.DAYS);
        }
    }

    /** For channelz. */
    @Override
    public ListenableFuture<ServerStats> getStats() {
        CallCounts counts = serving.counts();
        return Futures.immediateFuture(new ServerStats.Builder().setCallsStarted(counts.started())
                .setCallsSucceeded(counts.succeeded()).setCallsFailed(counts.failed())
                .setLastCallStartedNanos(counts.lastNanos()).build());
    }

    @Override
    public InternalLogId getLogId() {
        return id;
    }

    @Override
    public String toString() {
        return "RdmaServer[" + (started() == null ? local : started().localAddress()) + "]";
    }
}
