package org.rdmasockets.grpc;

import io.grpc.HandlerRegistry;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
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
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.rpc.RpcDatagrams;
import org.rdmasockets.internal.rpc.call.CallMethod;
import org.rdmasockets.internal.rpc.call.CallServer;
import org.rdmasockets.internal.rpc.call.EndpointCarrier;
import org.rdmasockets.internal.rpc.session.SessionHub;

/** A gRPC server over a server of calls. */
final class RdmaServer extends Server {
    private final InetSocketAddress local;
    private final RpcDatagrams datagrams;
    private final CallServer.Settings settings;
    private final Executor executor;
    private final Methods known;
    /** By their full names. */
    private final Map<String, CallMethod> methods = new HashMap<>();
    private final LimitedLog failures = new LimitedLog(new Log(RdmaServer.class));
    /** Null before the start; guarded by this. */
    private CallServer server;
    private boolean shutdown;

    /** All that is served: the builder's services, else the fallback, if any; the last interceptor runs first. */
    record Methods(List<ServerServiceDefinition> services, HandlerRegistry fallback,
            List<ServerInterceptor> interceptors) {}

    /** Cancels contexts whose time is over; one daemon thread, of the first call with a deadline on. */
    static final class Deadlines {
        /** Where they wait. */
        static final ScheduledThreadPoolExecutor SCHEDULER = new ScheduledThreadPoolExecutor(1,
                Thread.ofPlatform().name("rdma-grpc-deadlines").daemon().factory());

        static {
            SCHEDULER.setRemoveOnCancelPolicy(true);
        }

        private Deadlines() {}
    }

    RdmaServer(InetSocketAddress local, RpcDatagrams datagrams, CallServer.Settings settings, Executor executor,
            Methods known) {
        this.local = local;
        this.datagrams = datagrams;
        this.settings = settings;
        this.executor = executor;
        this.known = known;
        for (ServerServiceDefinition service : known.services()) {
            for (ServerMethodDefinition<?, ?> method : service.getMethods()) {
                methods.put(method.getMethodDescriptor().getFullMethodName(), callMethod(method));
            }
        }
    }

    private <Q, A> CallMethod callMethod(ServerMethodDefinition<Q, A> definition) {
        ServerCallHandler<Q, A> handler = definition.getServerCallHandler();
        for (ServerInterceptor interceptor : known.interceptors()) {
            ServerCallHandler<Q, A> next = handler;
            handler = (call, headers) -> interceptor.interceptCall(call, headers, next);
        }
        MethodDescriptor<Q, A> method = definition.getMethodDescriptor();
        ServerCallHandler<Q, A> outermost = handler;
        boolean here = executor == Encoding.VIRTUAL || executor == Encoding.DIRECT;
        if (here && method.getType() == MethodDescriptor.MethodType.UNARY) {
            return new CallMethod.Unary((stream, request) -> {
                new ServedCall<>(stream, method, outermost, executor, failures).runHere(request);
                return null;
            }, false);
        }
        return new CallMethod.Begun(stream -> new ServedCall<>(stream, method, outermost, executor, failures).begin());
    }

    private CallMethod lookup(String name) {
        CallMethod method = methods.get(name);
        if (method == null && known.fallback() != null) {
            ServerMethodDefinition<?, ?> definition = known.fallback().lookupMethod(name, null);
            return definition == null ? null : callMethod(definition);
        }
        return method;
    }

    @Override
    public synchronized Server start() throws IOException {
        if (server != null || shutdown) {
            throw new IllegalStateException(shutdown ? "the server is shut down" : "the server has started already");
        }
        int most = settings.maxMessage();
        server = CallServer.over(datagrams == null ? EndpointCarrier.listen(local, most)
                : SessionHub.listen(datagrams.bind(local), most), this::lookup, settings);
        return this;
    }

    private synchronized CallServer started() {
        return server;
    }

    @Override
    public int getPort() {
        CallServer now = started();
        return now == null ? -1 : now.localAddress().getPort();
    }

    @Override
    public List<? extends SocketAddress> getListenSockets() {
        CallServer now = started();
        if (now == null) {
            throw new IllegalStateException("the server has not started");
        }
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

    @Override
    public String toString() {
        return "RdmaServer[" + (started() == null ? local : started().localAddress()) + "]";
    }
}
