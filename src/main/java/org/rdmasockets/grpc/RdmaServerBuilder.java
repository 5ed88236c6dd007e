package org.rdmasockets.grpc;

import io.grpc.BinaryLog;
import io.grpc.BindableService;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.HandlerRegistry;
import io.grpc.InternalConfiguratorRegistry;
import io.grpc.MetricSink;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCallExecutorSupplier;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServerStreamTracer;
import io.grpc.ServerTransportFilter;
import java.io.File;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.rpc.RpcDatagrams;
import org.rdmasockets.internal.rpc.call.CallServer.Aging;
import org.rdmasockets.internal.rpc.call.CallServer.Settings;
import org.rdmasockets.internal.rpc.call.Frame;

/**
 * Makes gRPC servers whose calls come over RDMA or shared memory. Not for use by two threads at a time.
 * A module that uses it requires {@code io.grpc} beside {@code org.rdmasockets}.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // gRPC's types are for those who have gRPC
public final class RdmaServerBuilder extends ServerBuilder<RdmaServerBuilder> {
    private final InetSocketAddress local;
    private final Map<String, ServerServiceDefinition> services = new LinkedHashMap<>();
    private final List<ServerInterceptor> interceptors = new ArrayList<>();
    private final List<ServerStreamTracer.Factory> tracers = new ArrayList<>();
    private HandlerRegistry fallback;
    private BinaryLog log;
    private Executor executor = new Encoding.Virtual();
    private ServerCallExecutorSupplier executors;
    private CompressorRegistry compressors = CompressorRegistry.getDefaultInstance();
    private DecompressorRegistry decompressors = DecompressorRegistry.getDefaultInstance();
    private int maxMetadata = Frame.MAX_METADATA;
    private int maxMessage = Settings.DEFAULT.maxMessage();
    private int maxCalls = Settings.DEFAULT.maxCalls();
    private int maxCallsPerConnection = Settings.DEFAULT.maxCallsPerConnection();
    private long idleNanos = Long.MAX_VALUE;
    private long ageNanos = Long.MAX_VALUE;
    private long graceNanos = Long.MAX_VALUE;
    private RpcDatagrams datagrams;

    private RdmaServerBuilder(InetSocketAddress local) {
        this.local = local;
        InternalConfiguratorRegistry.configureServerBuilder(this);
    }

    /**
     * A server on all addresses.
     *
     * @param port 0 for any that is free
     * @return its builder
     */
    public static RdmaServerBuilder forPort(int port) {
        return new RdmaServerBuilder(new InetSocketAddress(port));
    }

    /**
     * A server on one address.
     *
     * @param local address, may be the wildcard, and port, 0 for any that is free
     * @return its builder
     */
    public static RdmaServerBuilder forAddress(InetSocketAddress local) {
        return new RdmaServerBuilder(Objects.requireNonNull(local));
    }

    /**
     * Takes calls in sessions over datagrams, as {@code RpcServer.Builder.datagrams()}; clients need the same setting.
     *
     * @return this
     */
    public RdmaServerBuilder datagrams() {
        return datagrams(RdmaDatagramSocket::new);
    }

    /**
     * The same over a socket of another kind, such as {@code DatagramSocket::new}, which is UDP and nothing else.
     *
     * @param sockets makes it
     * @return this
     */
    public RdmaServerBuilder datagrams(RpcDatagrams sockets) {
        datagrams = Objects.requireNonNull(sockets);
        return this;
    }

    /**
     * The most calls at once, of all clients; more are refused by RESOURCE_EXHAUSTED. 10,000 without this.
     *
     * @param calls at least 1
     * @return this
     */
    public RdmaServerBuilder maxConcurrentCalls(int calls) {
        maxCalls = Settings.atLeastOne(calls, "the number of calls");
        return this;
    }

    /**
     * The most calls at once of one connection; more wait at the client. 1,024 without this.
     *
     * @param calls at least 1
     * @return this
     */
    public RdmaServerBuilder maxConcurrentCallsPerConnection(int calls) {
        maxCallsPerConnection = Settings.atLeastOne(calls, "the number of calls of a connection");
        return this;
    }

    /** The longest request. 4 MiB without this. Longer ones fail at the client by RESOURCE_EXHAUSTED. */
    @Override
    public RdmaServerBuilder maxInboundMessageSize(int bytes) {
        maxMessage = Settings.atLeastOne(bytes, "the longest message");
        return this;
    }

    /** Callbacks run on the threads that read connections: they must not block. */
    @Override
    public RdmaServerBuilder directExecutor() {
        return executor(Encoding.DIRECT);
    }

    /**
     * Where callbacks run. The executor is the caller's to end. Without this, or with null, on virtual threads with the
     * context class loader of the thread that made this builder, and without its inheritable thread-locals.
     */
    @Override
    public RdmaServerBuilder executor(Executor where) {
        executor = where == null ? new Encoding.Virtual() : where;
        return this;
    }

    /** Of services with the same name the last counts. */
    @Override
    public RdmaServerBuilder addService(ServerServiceDefinition service) {
        services.put(service.getServiceDescriptor().getName(), service);
        return this;
    }

    @Override
    public RdmaServerBuilder addService(BindableService service) {
        return addService(service.bindService());
    }

    /** The last that was added runs first; all of them before a service's own. */
    @Override
    public RdmaServerBuilder intercept(ServerInterceptor interceptor) {
        interceptors.add(Objects.requireNonNull(interceptor));
        return this;
    }

    @Override
    public RdmaServerBuilder fallbackHandlerRegistry(HandlerRegistry registry) {
        fallback = registry;
        return this;
    }

    /** Where callbacks of a call run, if it says so; else, with null, as {@link #executor} says. */
    @Override
    public RdmaServerBuilder callExecutor(ServerCallExecutorSupplier supplier) {
        executors = Objects.requireNonNull(supplier);
        return this;
    }

    /** The tracers of a call hear of it in the order in which their factories were added. */
    @Override
    public RdmaServerBuilder addStreamTracerFactory(ServerStreamTracer.Factory factory) {
        tracers.add(Objects.requireNonNull(factory));
        return this;
    }

    /** Each method is wrapped by the log, outside of all interceptors; null for none. */
    @Override
    public RdmaServerBuilder setBinaryLog(BinaryLog binaryLog) {
        log = binaryLog;
        return this;
    }

    /** Nothing goes to the sink: transports of calls record no metrics of their own, and tracers record the calls. */
    @Override
    public RdmaServerBuilder addMetricSink(MetricSink sink) {
        Objects.requireNonNull(sink);
        return this;
    }

    /** How requests are decompressed; gRPC's default without this, or with null. */
    @Override
    public RdmaServerBuilder decompressorRegistry(DecompressorRegistry registry) {
        decompressors = Objects.requireNonNullElse(registry, DecompressorRegistry.getDefaultInstance());
        return this;
    }

    /** How answers are compressed, if a method asks for it; gRPC's default without this, or with null. */
    @Override
    public RdmaServerBuilder compressorRegistry(CompressorRegistry registry) {
        compressors = Objects.requireNonNullElse(registry, CompressorRegistry.getDefaultInstance());
        return this;
    }

    /** The longest headers of a call. 16,384 bytes, the most, without this. A call with longer ones fails. */
    @Override
    public RdmaServerBuilder maxInboundMetadataSize(int bytes) {
        maxMetadata = Encoding.maxMetadata(bytes);
        return this;
    }

    private static long nanos(long value, TimeUnit unit) {
        Encoding.longerThanNothing(value, unit);
        long nanos = unit.toNanos(value);
        return nanos > Long.MAX_VALUE / 4 ? Long.MAX_VALUE : nanos;
    }

    /** A connection without a call for so long ends, an eighth later at most. It does not end without this. */
    @Override
    public RdmaServerBuilder maxConnectionIdle(long value, TimeUnit unit) {
        idleNanos = nanos(value, unit);
        return this;
    }

    /** A connection ends at this age, give or take a tenth, and its client makes a new one. Any age without this. */
    @Override
    public RdmaServerBuilder maxConnectionAge(long value, TimeUnit unit) {
        ageNanos = nanos(value, unit);
        return this;
    }

    /** How long calls go on that run when their connection has its age; then they end. Any time without this. */
    @Override
    public RdmaServerBuilder maxConnectionAgeGrace(long value, TimeUnit unit) {
        graceNanos = value == 0 ? 0 : nanos(value, unit);
        return this;
    }

    /** Without effect: a connection finds out by itself, and without calls, too, that its client has gone. */
    @Override
    public RdmaServerBuilder keepAliveTime(long value, TimeUnit unit) {
        Encoding.longerThanNothing(value, unit);
        return this;
    }

    /** Without effect, as {@link #keepAliveTime}. */
    @Override
    public RdmaServerBuilder keepAliveTimeout(long value, TimeUnit unit) {
        Encoding.longerThanNothing(value, unit);
        return this;
    }

    /** Any rate is permitted, whatever this says. */
    @Override
    public RdmaServerBuilder permitKeepAliveTime(long value, TimeUnit unit) {
        Encoding.longerThanNothing(value == 0 ? 1 : value, unit);
        return this;
    }

    /** It is permitted, whatever this says. */
    @Override
    public RdmaServerBuilder permitKeepAliveWithoutCalls(boolean permit) {
        return this;
    }

    /** Not supported: calls are not encrypted. */
    @Override
    public RdmaServerBuilder useTransportSecurity(File chain, File key) {
        throw Encoding.notEncrypted();
    }

    /** Not supported: calls are not encrypted. */
    @Override
    public RdmaServerBuilder useTransportSecurity(InputStream chain, InputStream key) {
        throw Encoding.notEncrypted();
    }

    /** Not supported: the filter would have no attributes to change. An interceptor sees the addresses of a call. */
    @Override
    public RdmaServerBuilder addTransportFilter(ServerTransportFilter filter) {
        throw Encoding.refused("connections over RDMA have no filters: an interceptor of the server sees the addresses"
                + " of each call in its attributes");
    }

    /** Not supported: a client has 10 seconds for its first frame. */
    @Override
    public RdmaServerBuilder handshakeTimeout(long timeout, TimeUnit unit) {
        throw Encoding.refused("a client has 10 seconds for its first frame over RDMA, and no other time: leave"
                + " handshakeTimeout out");
    }

    @Override
    public Server build() {
        RdmaServer.Serving serving = new RdmaServer.Serving(executor, executors, List.copyOf(tracers), compressors,
                decompressors, maxMetadata);
        return new RdmaServer(local, datagrams, new Settings(maxMessage, maxCalls, maxCallsPerConnection,
                Settings.DEFAULT.maxConnections(), Settings.DEFAULT.maxHeldBytes(), Settings.DEFAULT.memoryBytes(),
                Settings.DEFAULT.memoryNanos()), new Aging(idleNanos, ageNanos, graceNanos), serving,
                new RdmaServer.Methods(List.copyOf(services.values()), fallback, List.copyOf(interceptors), log));
    }
}
