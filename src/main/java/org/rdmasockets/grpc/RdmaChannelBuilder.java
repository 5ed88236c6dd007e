package org.rdmasockets.grpc;

import io.grpc.BinaryLog;
import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import io.grpc.ClientTransportFilter;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.InternalConfiguratorRegistry;
import io.grpc.InternalManagedChannelBuilder;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MetricSink;
import io.grpc.NameResolver;
import io.grpc.ProxyDetector;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.rdmasockets.internal.rpc.call.CallServer.Settings;
import org.rdmasockets.internal.rpc.call.Frame;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcDatagrams;

/**
 * Makes gRPC channels whose calls go over RDMA or shared memory. Not for use by two threads at a time.
 * A module that uses it requires {@code io.grpc} beside {@code org.rdmasockets}.
 *
 * <p>A channel to one server is the library's own, which is the quick one. A target for a name resolver of gRPC, and
 * each setting below that says so, makes it a <em>channel of gRPC's core</em> instead, with connections of this library
 * under it: gRPC's own classes resolve names, balance, retry and count. That needs {@code grpc-core}.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // gRPC's types are for those who have gRPC
public final class RdmaChannelBuilder extends ManagedChannelBuilder<RdmaChannelBuilder> {
    private final String target;
    /** Null for a target that a name resolver of gRPC knows. */
    private final InetSocketAddress server;
    private final RpcClient.Builder client = RpcClient.builder();
    private final List<ClientInterceptor> interceptors = new ArrayList<>();
    /** How many of them come from gRPC's global configuration. */
    private final int global;
    /** Settings of a channel of gRPC's core; it is one if there are any. */
    private final List<Consumer<ManagedChannelBuilder<?>>> core = new ArrayList<>();
    /** Settings that a channel of gRPC's core takes over, and that do not make it one. */
    private final List<Consumer<ManagedChannelBuilder<?>>> both = new ArrayList<>();
    private UnaryOperator<Channel> log = UnaryOperator.identity();
    private String authority;
    private String userAgent;
    private Executor executor = new Encoding.Virtual();
    private Duration retryTime = Duration.ofSeconds(30);
    private CompressorRegistry compressors = CompressorRegistry.getDefaultInstance();
    private DecompressorRegistry decompressors = DecompressorRegistry.getDefaultInstance();
    private int maxMessage = Settings.DEFAULT.maxMessage();
    private int maxMetadata = Frame.MAX_METADATA;

    private RdmaChannelBuilder(String target, InetSocketAddress server) {
        this.target = target;
        this.server = server;
        InternalConfiguratorRegistry.configureChannelBuilder(this);
        global = interceptors.size();
    }

    /**
     * A channel to a server.
     *
     * @param host name or address; looked up whenever the channel connects
     * @param port of the server
     * @return its builder
     */
    public static RdmaChannelBuilder forAddress(String host, int port) {
        String place = (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
        RdmaChannelBuilder builder = new RdmaChannelBuilder(place, InetSocketAddress.createUnresolved(host, port));
        builder.authority = place;
        return builder;
    }

    /**
     * A channel to a server, or to those that a name resolver of gRPC finds.
     *
     * @param target {@code HOST:PORT} or {@code [ADDRESS]:PORT}, perhaps after {@code rdma:///} or {@code dns:///};
     *        with another scheme, what a registered {@link NameResolver} of it knows
     * @return its builder
     * @throws IllegalArgumentException if it is anything else
     */
    public static RdmaChannelBuilder forTarget(String target) {
        // Brackets have no place in the path of a URI, which gRPC's own look for a transport wants.
        String place = target.replaceFirst("^(?i:rdma|dns):(///)?", "").replace("%5B", "[").replace("%5D", "]");
        if (place.equals(target) && target.matches("[a-z][a-z0-9+.-]*:/.*")) {
            return new RdmaChannelBuilder(target, null);
        }
        int colon = place.lastIndexOf(':');
        String host = place.substring(0, Math.max(colon, 0));
        boolean bracketed = host.startsWith("[") && host.endsWith("]");
        if (host.isEmpty() || !bracketed && host.indexOf(':') >= 0 || host.indexOf('/') >= 0) {
            throw new IllegalArgumentException("a target is HOST:PORT, perhaps after rdma:/// or dns:///, or begins"
                    + " with the scheme of a name resolver, and is not " + target);
        }
        try {
            return forAddress(bracketed ? host.substring(1, host.length() - 1) : host,
                    Integer.parseInt(place.substring(colon + 1)));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("the port of a target is a number: " + target, e);
        }
    }

    /**
     * Calls in a session over datagrams, as the server takes them.
     *
     * @return this
     */
    public RdmaChannelBuilder datagrams() {
        client.datagrams();
        return this;
    }

    /**
     * The same over sockets of another kind, such as {@code DatagramSocket::new}, which is UDP and nothing else.
     *
     * @param sockets makes one for each session, one after the other
     * @return this
     */
    public RdmaChannelBuilder datagrams(RpcDatagrams sockets) {
        client.datagrams(sockets);
        return this;
    }

    /**
     * How long connecting, and a call without a deadline, is tried again. 30 seconds without this.
     *
     * @param time longer than nothing
     * @return this
     */
    public RdmaChannelBuilder retryTime(Duration time) {
        client.retryTime(time);
        retryTime = time;
        return this;
    }

    /** Callbacks run on the thread that reads the connection: they must not block. */
    @Override
    public RdmaChannelBuilder directExecutor() {
        return executor(Encoding.DIRECT);
    }

    /**
     * Where callbacks run. The executor is the caller's to end. Without this, or with null, on virtual threads with the
     * context class loader of the thread that made this builder, and without its inheritable thread-locals.
     */
    @Override
    public RdmaChannelBuilder executor(Executor where) {
        executor = where == null ? new Encoding.Virtual() : where;
        return this;
    }

    @Override
    public RdmaChannelBuilder intercept(List<ClientInterceptor> more) {
        interceptors.addAll(more);
        return this;
    }

    @Override
    public RdmaChannelBuilder intercept(ClientInterceptor... more) {
        return intercept(Arrays.asList(more));
    }

    @Override
    protected RdmaChannelBuilder interceptWithTarget(InterceptorFactory factory) {
        return intercept(factory.newInterceptor(server == null ? target : "rdma:///" + target));
    }

    /** All calls are wrapped by the log, inside of all interceptors; null for none. */
    @Override
    public RdmaChannelBuilder setBinaryLog(BinaryLog binaryLog) {
        log = binaryLog == null ? UnaryOperator.identity() : binaryLog::wrapChannel;
        both.add(builder -> builder.setBinaryLog(binaryLog));
        return this;
    }

    /** A channel of gRPC's core has metrics of its own; others record calls by tracers, and nothing else. */
    @Override
    protected RdmaChannelBuilder addMetricSink(MetricSink sink) {
        both.add(builder -> InternalManagedChannelBuilder.addMetricSink(builder, sink));
        return this;
    }

    @Override
    public RdmaChannelBuilder userAgent(String name) {
        userAgent = name;
        return this;
    }

    @Override
    public RdmaChannelBuilder overrideAuthority(String name) {
        authority = Encoding.authority(name);
        both.add(builder -> builder.overrideAuthority(name));
        return this;
    }

    /** Calls are never encrypted: this says that the caller knows. */
    @Override
    public RdmaChannelBuilder usePlaintext() {
        return this;
    }

    /** Not supported: calls are not encrypted. */
    @Override
    public RdmaChannelBuilder useTransportSecurity() {
        throw Encoding.notEncrypted();
    }

    private RdmaChannelBuilder core(Consumer<ManagedChannelBuilder<?>> setting) {
        core.add(setting);
        return this;
    }

    /** Makes it a channel of gRPC's core, whose names the resolvers find. */
    @Override
    @Deprecated
    public RdmaChannelBuilder nameResolverFactory(NameResolver.Factory factory) {
        return core(builder -> builder.nameResolverFactory(factory));
    }

    /** Makes it a channel of gRPC's core: the arguments are for its name resolver. */
    @Override
    public <X> RdmaChannelBuilder setNameResolverArg(NameResolver.Args.Key<X> key, X value) {
        return core(builder -> builder.setNameResolverArg(key, value));
    }

    /** Makes it a channel of gRPC's core, which balances by this policy, as {@code round_robin}. */
    @Override
    public RdmaChannelBuilder defaultLoadBalancingPolicy(String policy) {
        return core(builder -> builder.defaultLoadBalancingPolicy(policy));
    }

    /** Makes it a channel of gRPC's core, which retries, hedges and balances as the configuration says. */
    @Override
    public RdmaChannelBuilder defaultServiceConfig(Map<String, ?> config) {
        return core(builder -> builder.defaultServiceConfig(config));
    }

    /** Only a channel of gRPC's core looks up configurations. */
    @Override
    public RdmaChannelBuilder disableServiceConfigLookUp() {
        both.add(ManagedChannelBuilder::disableServiceConfigLookUp);
        return this;
    }

    /** Makes it a channel of gRPC's core, which retries as its service configuration says. */
    @Override
    public RdmaChannelBuilder enableRetry() {
        return core(ManagedChannelBuilder::enableRetry);
    }

    /**
     * No retries by a service configuration: only a channel of gRPC's core has any. Calls whose connection was lost are
     * made again all the same, as {@code docs/rpc.md} says.
     */
    @Override
    public RdmaChannelBuilder disableRetry() {
        both.add(ManagedChannelBuilder::disableRetry);
        return this;
    }

    /** Makes it a channel of gRPC's core. */
    @Override
    public RdmaChannelBuilder maxRetryAttempts(int attempts) {
        return core(builder -> builder.maxRetryAttempts(attempts));
    }

    /** Makes it a channel of gRPC's core. */
    @Override
    public RdmaChannelBuilder maxHedgedAttempts(int attempts) {
        return core(builder -> builder.maxHedgedAttempts(attempts));
    }

    /** Makes it a channel of gRPC's core. */
    @Override
    public RdmaChannelBuilder retryBufferSize(long bytes) {
        return core(builder -> builder.retryBufferSize(bytes));
    }

    /** Makes it a channel of gRPC's core. */
    @Override
    public RdmaChannelBuilder perRpcBufferLimit(long bytes) {
        return core(builder -> builder.perRpcBufferLimit(bytes));
    }

    /** Makes it a channel of gRPC's core, whose events channelz shows. */
    @Override
    public RdmaChannelBuilder maxTraceEvents(int events) {
        return core(builder -> builder.maxTraceEvents(events));
    }

    /** Makes it a channel of gRPC's core: its name resolvers run there. */
    @Override
    public RdmaChannelBuilder offloadExecutor(Executor where) {
        return core(builder -> builder.offloadExecutor(where));
    }

    /** Makes it a channel of gRPC's core, whose connections pass the filter. */
    @Override
    public RdmaChannelBuilder addTransportFilter(ClientTransportFilter filter) {
        return core(builder -> builder.addTransportFilter(filter));
    }

    /** Makes it a channel of gRPC's core, which ends its connections when it had no call for so long. */
    @Override
    public RdmaChannelBuilder idleTimeout(long value, TimeUnit unit) {
        return core(builder -> builder.idleTimeout(value, unit));
    }

    /** Not supported: a proxy forwards bytes of TCP, and neither RDMA nor shared memory. */
    @Override
    public RdmaChannelBuilder proxyDetector(ProxyDetector detector) {
        throw Encoding.refused("a proxy forwards bytes of TCP, and no RDMA: leave proxyDetector out, and name the"
                + " server");
    }

    /** Without effect: a connection finds out by itself, and without calls, too, that its server has ended. */
    @Override
    public RdmaChannelBuilder keepAliveTime(long value, TimeUnit unit) {
        Encoding.longerThanNothing(value, unit);
        return this;
    }

    /** Without effect, as {@link #keepAliveTime}. */
    @Override
    public RdmaChannelBuilder keepAliveTimeout(long value, TimeUnit unit) {
        Encoding.longerThanNothing(value, unit);
        return this;
    }

    /** Without effect, as {@link #keepAliveTime}. */
    @Override
    public RdmaChannelBuilder keepAliveWithoutCalls(boolean enable) {
        return this;
    }

    /** How answers are decompressed; gRPC's default without this, or with null. */
    @Override
    public RdmaChannelBuilder decompressorRegistry(DecompressorRegistry registry) {
        decompressors = Objects.requireNonNullElse(registry, DecompressorRegistry.getDefaultInstance());
        both.add(builder -> builder.decompressorRegistry(registry));
        return this;
    }

    /** How requests are compressed, if a call asks for it; gRPC's default without this, or with null. */
    @Override
    public RdmaChannelBuilder compressorRegistry(CompressorRegistry registry) {
        compressors = Objects.requireNonNullElse(registry, CompressorRegistry.getDefaultInstance());
        both.add(builder -> builder.compressorRegistry(registry));
        return this;
    }

    /** The longest answer. 4 MiB without this. Longer ones fail at the server by RESOURCE_EXHAUSTED. */
    @Override
    public RdmaChannelBuilder maxInboundMessageSize(int bytes) {
        client.maxMessage(bytes);
        maxMessage = bytes;
        return this;
    }

    /**
     * The longest headers, and the longest trailers, of an answer. 16,384 bytes, the most, without this. A call with
     * longer ones fails by RESOURCE_EXHAUSTED.
     */
    @Override
    public RdmaChannelBuilder maxInboundMetadataSize(int bytes) {
        maxMetadata = Encoding.maxMetadata(bytes);
        return this;
    }

    private RdmaChannel.Settings settings() {
        return new RdmaChannel.Settings(authority, userAgent == null ? "grpc-java-rdma" : userAgent + " grpc-java-rdma",
                executor, retryTime, compressors, decompressors, maxMessage, maxMetadata);
    }

    /** A channel that connects at its first call. */
    @Override
    public ManagedChannel build() {
        if (server != null && core.isEmpty()) {
            return new RdmaChannel(told -> client.onState(told).unconnected(server), settings(),
                    List.copyOf(interceptors), log).shown();
        }
        List<Consumer<ManagedChannelBuilder<?>>> all = new ArrayList<>(core);
        all.addAll(both);
        all.add(builder -> builder.executor(executor).intercept(interceptors.subList(global, interceptors.size())));
        try {
            return CoreTransports.channel(server == null ? target : "dns:///" + target, all, settings(), client);
        } catch (NoClassDefFoundError e) {
            throw new IllegalStateException("a channel with a name resolver, balancing or a service configuration needs"
                    + " grpc-core and grpc-util of the version of grpc-api: " + e.getMessage(), e);
        }
    }
}
