package org.rdmasockets.grpc;

import io.grpc.BindableService;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.HandlerRegistry;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import java.io.File;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.rpc.RpcDatagrams;
import org.rdmasockets.internal.rpc.call.CallServer.Settings;

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
    private HandlerRegistry fallback;
    private Executor executor = Encoding.VIRTUAL;
    private int maxMessage = Settings.DEFAULT.maxMessage();
    private int maxCalls = Settings.DEFAULT.maxCalls();
    private int maxCallsPerConnection = Settings.DEFAULT.maxCallsPerConnection();
    private RpcDatagrams datagrams;

    private RdmaServerBuilder(InetSocketAddress local) {
        this.local = local;
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

    /** Where callbacks run; on virtual threads without this, or with null. The executor is the caller's to end. */
    @Override
    public RdmaServerBuilder executor(Executor where) {
        executor = Objects.requireNonNullElse(where, Encoding.VIRTUAL);
        return this;
    }

    @Override
    public RdmaServerBuilder addService(ServerServiceDefinition service) {
        String name = service.getServiceDescriptor().getName();
        if (services.putIfAbsent(name, service) != null) {
            throw new IllegalArgumentException("there is a service " + name + " already");
        }
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

    /** Not supported: calls are not encrypted. */
    @Override
    public RdmaServerBuilder useTransportSecurity(File chain, File key) {
        throw Encoding.notEncrypted();
    }

    /** Not supported, but for null: messages are not compressed. */
    @Override
    public RdmaServerBuilder decompressorRegistry(DecompressorRegistry registry) {
        Encoding.refuseCompression(registry);
        return this;
    }

    /** Not supported, but for null: messages are not compressed. */
    @Override
    public RdmaServerBuilder compressorRegistry(CompressorRegistry registry) {
        Encoding.refuseCompression(registry);
        return this;
    }

    @Override
    public Server build() {
        return new RdmaServer(local, datagrams, new Settings(maxMessage, maxCalls, maxCallsPerConnection,
                Settings.DEFAULT.maxConnections(), Settings.DEFAULT.maxHeldBytes(), Settings.DEFAULT.memoryBytes(),
                Settings.DEFAULT.memoryNanos()), executor,
                new RdmaServer.Methods(List.copyOf(services.values()), fallback, List.copyOf(interceptors)));
    }
}
