package org.rdmasockets.grpc;

import io.grpc.ClientInterceptor;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.NameResolver;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcDatagrams;

/**
 * Makes gRPC channels whose calls go over RDMA or shared memory. Not for use by two threads at a time.
 * A module that uses it requires {@code io.grpc} beside {@code org.rdmasockets}.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // gRPC's types are for those who have gRPC
public final class RdmaChannelBuilder extends ManagedChannelBuilder<RdmaChannelBuilder> {
    private final InetSocketAddress server;
    private final RpcClient.Builder client = RpcClient.builder();
    private final List<ClientInterceptor> interceptors = new ArrayList<>();
    private String authority;
    private String userAgent;
    private Executor executor = Encoding.VIRTUAL;
    private Duration retryTime = Duration.ofSeconds(30);

    private RdmaChannelBuilder(String host, int port) {
        server = InetSocketAddress.createUnresolved(host, port);
        authority = (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
    }

    /**
     * A channel to a server.
     *
     * @param host name or address; looked up whenever the channel connects
     * @param port of the server
     * @return its builder
     */
    public static RdmaChannelBuilder forAddress(String host, int port) {
        return new RdmaChannelBuilder(Objects.requireNonNull(host), port);
    }

    /**
     * A channel to a server.
     *
     * @param target {@code HOST:PORT} or {@code [ADDRESS]:PORT}, perhaps after {@code rdma:///} or {@code dns:///}
     * @return its builder
     * @throws IllegalArgumentException if it is anything else
     */
    public static RdmaChannelBuilder forTarget(String target) {
        String place = target.replaceFirst("^(rdma|dns):(///)?", "");
        int colon = place.lastIndexOf(':');
        String host = place.substring(0, Math.max(colon, 0));
        boolean bracketed = host.startsWith("[") && host.endsWith("]");
        if (host.isEmpty() || !bracketed && host.indexOf(':') >= 0 || host.indexOf('/') >= 0) {
            throw new IllegalArgumentException("a target is HOST:PORT, perhaps after rdma:/// or dns:///, not "
                    + target);
        }
        try {
            return new RdmaChannelBuilder(bracketed ? host.substring(1, host.length() - 1) : host,
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

    /** Where callbacks run; on virtual threads without this, or with null. The executor is the caller's to end. */
    @Override
    public RdmaChannelBuilder executor(Executor where) {
        executor = Objects.requireNonNullElse(where, Encoding.VIRTUAL);
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
    public RdmaChannelBuilder userAgent(String name) {
        userAgent = name;
        return this;
    }

    @Override
    public RdmaChannelBuilder overrideAuthority(String name) {
        authority = Objects.requireNonNull(name);
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

    /** Not supported: a channel goes to one server, whose name is looked up whenever the channel connects. */
    @Override
    @Deprecated
    public RdmaChannelBuilder nameResolverFactory(NameResolver.Factory factory) {
        throw new UnsupportedOperationException("a channel over RDMA goes to the one server that forAddress names");
    }

    /** Not supported, but for null: messages are not compressed. */
    @Override
    public RdmaChannelBuilder decompressorRegistry(DecompressorRegistry registry) {
        Encoding.refuseCompression(registry);
        return this;
    }

    /** Not supported, but for null: messages are not compressed. */
    @Override
    public RdmaChannelBuilder compressorRegistry(CompressorRegistry registry) {
        Encoding.refuseCompression(registry);
        return this;
    }

    /** Without effect: an idle connection stays. */
    @Override
    public RdmaChannelBuilder idleTimeout(long value, TimeUnit unit) {
        return this;
    }

    /** The longest answer. 4 MiB without this. Longer ones fail at the server by RESOURCE_EXHAUSTED. */
    @Override
    public RdmaChannelBuilder maxInboundMessageSize(int bytes) {
        client.maxMessage(bytes);
        return this;
    }

    /** A channel that connects at its first call. */
    @Override
    public ManagedChannel build() {
        return new RdmaChannel(told -> client.onState(told).unconnected(server), new RdmaChannel.Settings(authority,
                userAgent == null ? "grpc-java-rdma" : userAgent + " grpc-java-rdma", executor, retryTime),
                List.copyOf(interceptors));
    }
}
