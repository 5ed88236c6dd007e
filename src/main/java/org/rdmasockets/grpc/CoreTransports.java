package org.rdmasockets.grpc;

import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.ChannelLogger;
import io.grpc.ClientStreamTracer;
import io.grpc.ConnectivityState;
import io.grpc.InternalChannelz.SocketOptions;
import io.grpc.InternalChannelz.SocketStats;
import io.grpc.InternalChannelz.TransportStats;
import io.grpc.InternalLogId;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Grpc;
import io.grpc.Status;
import io.grpc.SynchronizationContext;
import io.grpc.internal.ClientStream;
import io.grpc.internal.ClientTransportFactory;
import io.grpc.internal.ConnectionClientTransport;
import io.grpc.internal.ManagedChannelImplBuilder;
import io.grpc.internal.SimpleDisconnectError;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.rpc.RpcClient;

/** Connections for a channel of gRPC's core. The only class, with {@link CoreStream}, that needs {@code grpc-core}. */
final class CoreTransports implements ClientTransportFactory {
    private static final LimitedLog FAILURES = new LimitedLog(new Log(CoreTransports.class));

    private final RdmaChannel.Settings settings;
    private final RpcClient.Builder clients;

    private CoreTransports(RdmaChannel.Settings settings, RpcClient.Builder clients) {
        this.settings = settings;
        this.clients = clients;
    }

    /** A channel of gRPC's core over connections with these settings. */
    static ManagedChannel channel(String target, List<Consumer<ManagedChannelBuilder<?>>> more,
            RdmaChannel.Settings settings, RpcClient.Builder clients) {
        ManagedChannelImplBuilder builder = new ManagedChannelImplBuilder(target,
                () -> new CoreTransports(settings, clients), null);
        builder.userAgent(settings.userAgent());
        for (Consumer<ManagedChannelBuilder<?>> setting : more) {
            setting.accept(builder);
        }
        return builder.build();
    }

    @Override
    public ConnectionClientTransport newClientTransport(SocketAddress server, ClientTransportOptions options,
            ChannelLogger logger) {
        RdmaChannel.Settings own = new RdmaChannel.Settings(options.getAuthority(),
                options.getUserAgent() == null ? settings.userAgent() : options.getUserAgent(), Encoding.DIRECT,
                settings.retryTime(), settings.compressors(), settings.decompressors(), settings.maxMessage(),
                settings.maxMetadata());
        return new CoreTransport(server, new RdmaChannel(told -> {
            synchronized (clients) { // channels of one builder share it
                return clients.onState(told).unconnected((InetSocketAddress) server);
            }
        }, own, List.of(), UnaryOperator.identity()));
    }

    @Override
    public ScheduledExecutorService getScheduledExecutorService() {
        return RdmaServer.Deadlines.SCHEDULER;
    }

    @Override
    public SwapChannelCredentialsResult swapChannelCredentials(ChannelCredentials credentials) {
        return null; // not supported
    }

    @Override
    public Collection<Class<? extends SocketAddress>> getSupportedSocketAddressTypes() {
        return List.of(InetSocketAddress.class);
    }

    @Override
    public void close() {
        // Each transport ends by itself.
    }

    /** One connection: a channel of this library that is shut down when its connection is lost. */
    static final class CoreTransport implements ConnectionClientTransport {
        private final SocketAddress server;
        private final RdmaChannel channel;
        private final InternalLogId id;
        /** Tells the listener one thing after the other; all below is used in it only. */
        private final SynchronizationContext order = new SynchronizationContext(CoreTransport::failed);
        private Listener listener;
        private int streams;
        private boolean leaving;
        private boolean terminated;
        private volatile Attributes attributes = Attributes.EMPTY;

        CoreTransport(SocketAddress server, RdmaChannel channel) {
            this.server = server;
            this.channel = channel;
            id = InternalLogId.allocate(CoreTransport.class, server.toString());
        }

        private static void failed(Thread thread, Throwable failure) {
            try {
                FAILURES.warn("a listener of gRPC has failed", failure);
            } catch (RuntimeException | Error e) {
                return; // no memory for a line, perhaps: the next is told all the same
            }
        }

        @Override
        public Runnable start(Listener told) {
            order.execute(() -> listener = told);
            LibraryThreads.start("rdma-grpc-connect", this::connect);
            return null;
        }

        private void connect() {
            try {
                channel.client.connect(channel.settings.retryTime());
                order.execute(this::ready);
            } catch (IOException | RuntimeException | Error e) {
                lost(Status.UNAVAILABLE.withDescription("no connection to " + server + ": " + e.getMessage())
                        .withCause(e));
            }
        }

        private void ready() {
            if (!leaving) {
                attributes = listener.filterTransport(channel.attributes());
                listener.transportReady();
                watch();
            }
        }

        private void watch() {
            channel.notifyWhenStateChanged(ConnectivityState.READY, () -> {
                if (channel.client.isConnected() && !channel.isShutdown()) {
                    watch();
                } else if (!channel.isShutdown()) {
                    lost();
                }
            });
        }

        private void lost() {
            lost(Status.UNAVAILABLE.withDescription("the connection to " + server + " was lost"));
        }

        /** There is no connection, or no more. Calls that have begun end by themselves. */
        private void lost(Status why) {
            order.execute(() -> leave(why));
        }

        private void leave(Status why) {
            if (!leaving) {
                leaving = true;
                channel.shutdown();
                listener.transportShutdown(why, SimpleDisconnectError.UNKNOWN);
            }
            endIfDone();
        }

        private void endIfDone() {
            if (leaving && streams == 0 && !terminated) {
                terminated = true;
                listener.transportTerminated();
            }
        }

        @Override
        public ClientStream newStream(MethodDescriptor<?, ?> method, Metadata headers, CallOptions options,
                ClientStreamTracer[] tracers) {
            return new CoreStream(this, method, headers, options.getOnReadyThreshold(), tracers);
        }

        RdmaChannel channel() {
            return channel;
        }

        /** A stream has begun. */
        void begins() {
            order.execute(() -> {
                streams++;
                if (streams == 1) {
                    listener.transportInUse(true);
                }
            });
        }

        /** A stream has ended, and its listener knows. */
        void ends() {
            leaveIfLost();
            order.execute(() -> {
                streams--;
                try {
                    if (streams == 0) {
                        listener.transportInUse(false);
                    }
                } finally {
                    endIfDone();
                }
            });
        }

        /** No further stream comes here if the server leaves, or is gone. */
        void leaveIfLost() {
            if (!channel.client.isConnected()) {
                lost();
            }
        }

        @Override
        public void shutdown(Status why) {
            lost(why);
        }

        @Override
        public void shutdownNow(Status why) {
            lost(why);
            channel.shutdownNow(why);
        }

        /** Fails: whether a server is there shows in the state of the channel. */
        @Override
        public void ping(PingCallback callback, Executor executor) {
            executor.execute(() -> callback.onFailure(Status.UNIMPLEMENTED.withDescription(
                    "connections over RDMA send no pings")));
        }

        @Override
        public Attributes getAttributes() {
            return attributes;
        }

        @Override
        public ListenableFuture<SocketStats> getStats() {
            CallCounts counts = channel.counts();
            return Futures.immediateFuture(new SocketStats(new TransportStats(counts.started(), counts.lastNanos(), 0,
                    counts.succeeded(), counts.failed(), 0, 0, 0, 0, 0, 0, 0),
                    attributes.get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR), server, new SocketOptions.Builder().build(), null));
        }

        @Override
        public InternalLogId getLogId() {
            return id;
        }

        @Override
        public String toString() {
            return id.toString();
        }
    }
}
