package org.rdmasockets.grpc;

import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.CompressorRegistry;
import io.grpc.ConnectivityState;
import io.grpc.DecompressorRegistry;
import io.grpc.Grpc;
import io.grpc.InternalChannelz;
import io.grpc.InternalChannelz.ChannelStats;
import io.grpc.InternalInstrumented;
import io.grpc.InternalLogId;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.rpc.call.QuickWatcher;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcMetadata;

/** A gRPC channel over a client of calls. */
final class RdmaChannel extends ManagedChannel implements InternalInstrumented<ChannelStats> {
    /** The carrier of the calls. */
    final RpcClient client;
    final Settings settings;
    /** The headers that each call of this channel sends first. */
    private final RpcMetadata ownHeaders;
    private final Channel intercepted;
    private final Set<ChannelCall<?, ?>> calls = ConcurrentHashMap.newKeySet();
    private final CountDownLatch terminated = new CountDownLatch(1);
    private final CallCounts counts = new CallCounts();
    private final InternalLogId id;
    /** Whether channelz shows it. */
    private final AtomicBoolean shown = new AtomicBoolean();
    private volatile boolean shutdown;
    /** The state as last seen; guarded by stateLock, as are the tasks to run at a change. */
    private ConnectivityState state = ConnectivityState.IDLE;
    private List<Runnable> told = new ArrayList<>();
    private final Object stateLock = new Object();
    /** For watchers of the state. */
    private final Executor threads = new Encoding.Virtual();

    /** The settings of a channel; a call without a deadline waits for a connection for {@code retryTime}. */
    record Settings(String authority, String userAgent, Executor executor, Duration retryTime,
            CompressorRegistry compressors, DecompressorRegistry decompressors, int maxMessage, int maxMetadata) {}

    /**
     * A channel over a client that the function makes; the last interceptor runs first, and the wrapper is inside all
     * of them.
     */
    RdmaChannel(Function<Consumer<RpcClient.Connectivity>, RpcClient> client, Settings settings,
            List<ClientInterceptor> interceptors, UnaryOperator<Channel> wrapper) {
        this.settings = settings;
        this.client = client.apply((QuickWatcher<RpcClient.Connectivity>) this::clientIs);
        id = InternalLogId.allocate(ManagedChannel.class, settings.authority());
        ownHeaders = RpcMetadata.of(List.of(Encoding.entry(Encoding.AUTHORITY, settings.authority()),
                Encoding.entry("user-agent", settings.userAgent())));
        intercepted = ClientInterceptors.intercept(wrapper.apply(new Channel() {
            @Override
            public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
                return new ChannelCall<>(RdmaChannel.this, method, options);
            }

            @Override
            public String authority() {
                return RdmaChannel.this.authority();
            }
        }), interceptors);
    }

    /** The attributes of a transport, in gRPC's words. */
    static Attributes attributes(SocketAddress local, SocketAddress remote) {
        return Attributes.newBuilder().set(Grpc.TRANSPORT_ATTR_LOCAL_ADDR, local)
                .set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, remote).build();
    }

    /** The attributes of the present connection; empty if there is none. */
    Attributes attributes() {
        Optional<InetSocketAddress> remote = client.remoteAddress();
        Optional<InetSocketAddress> local = client.localAddress();
        return remote.isEmpty() || local.isEmpty() ? Attributes.EMPTY : attributes(local.get(), remote.get());
    }

    /** The headers of a call, which begin with those of the channel: most calls have no others. */
    RpcMetadata headers(String ownAuthority, Metadata more) {
        if (ownAuthority == null && more.keys().isEmpty()) {
            return ownHeaders;
        }
        List<RpcMetadata.Entry> first = ownHeaders.entries();
        return Encoding.metadata(ownAuthority == null ? first
                : List.of(Encoding.entry(Encoding.AUTHORITY, ownAuthority), first.getLast()), more);
    }

    @Override
    public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
        return intercepted.newCall(method, options);
    }

    @Override
    public String authority() {
        return settings.authority();
    }

    private void clientIs(RpcClient.Connectivity now) {
        state(switch (now) {
            case IDLE -> ConnectivityState.IDLE;
            case CONNECTING -> ConnectivityState.CONNECTING;
            case READY -> ConnectivityState.READY;
            case FAILED -> ConnectivityState.TRANSIENT_FAILURE;
        });
    }

    /** The connection was seen in a state. */
    private void state(ConnectivityState now) {
        List<Runnable> changed;
        synchronized (stateLock) {
            if (state == now || state == ConnectivityState.SHUTDOWN) {
                return;
            }
            state = now;
            changed = told;
            told = new ArrayList<>();
        }
        changed.forEach(this::tell);
    }

    /** Runs a callback and its executor on another thread: this one may hold the client's locks. */
    private void tell(Runnable callback) {
        Executor where = settings.executor();
        threads.execute(where == Encoding.DIRECT ? callback : () -> {
            try {
                where.execute(callback);
            } catch (RejectedExecutionException | OutOfMemoryError e) { // the executor takes no more, or has no thread
                callback.run();
            }
        });
    }

    @Override
    public ConnectivityState getState(boolean requestConnection) {
        boolean connected;
        ConnectivityState now;
        synchronized (stateLock) { // so the look is no older than what the client has told
            connected = client.isConnected();
            now = state;
            if (now == ConnectivityState.READY && !connected) {
                now = ConnectivityState.IDLE;
            } else if (connected && now != ConnectivityState.SHUTDOWN) {
                now = ConnectivityState.READY;
            }
            state(now);
        }
        if (requestConnection && !connected && !shutdown) {
            LibraryThreads.start("rdma-grpc-connect", () -> {
                try {
                    client.connect(settings.retryTime());
                } catch (IOException e) {
                    return; // the state tells
                }
            });
        }
        return now;
    }

    @Override
    public void notifyWhenStateChanged(ConnectivityState source, Runnable callback) {
        getState(false);
        synchronized (stateLock) {
            if (state == source) {
                told.add(callback);
                return;
            }
        }
        tell(callback);
    }

    /** How many calls it has had. */
    CallCounts counts() {
        return counts;
    }

    /** Channelz shows it until it is shut down. */
    RdmaChannel shown() {
        InternalChannelz.instance().addRootChannel(this);
        shown.set(true);
        return this;
    }

    /** For channelz. */
    @Override
    public ListenableFuture<ChannelStats> getStats() {
        return Futures.immediateFuture(new ChannelStats.Builder().setTarget(authority()).setState(getState(false))
                .setCallsStarted(counts.started()).setCallsSucceeded(counts.succeeded())
                .setCallsFailed(counts.failed()).setLastCallStartedNanos(counts.lastNanos()).build());
    }

    @Override
    public InternalLogId getLogId() {
        return id;
    }

    /** A call begins; false if the channel takes none. */
    boolean begins(ChannelCall<?, ?> call) {
        counts.starts();
        calls.add(call);
        if (shutdown) { // after the call can be seen: pairs with shutdown
            ends(call, false);
            return false;
        }
        return true;
    }

    /** A call has ended, perhaps well. */
    void ends(ChannelCall<?, ?> call, boolean well) {
        if (calls.remove(call)) {
            counts.ends(well);
        }
        endIfDone();
    }

    private void endIfDone() {
        if (shutdown && calls.isEmpty()) {
            client.close();
            if (shown.compareAndSet(true, false)) {
                InternalChannelz.instance().removeRootChannel(this);
            }
            terminated.countDown();
        }
    }

    /** Calls that run go on; the next one connects anew. */
    @Override
    public void enterIdle() {
        client.disconnect();
        getState(false);
    }

    @Override
    public ManagedChannel shutdown() {
        shutdown = true;
        state(ConnectivityState.SHUTDOWN);
        endIfDone();
        return this;
    }

    @Override
    public ManagedChannel shutdownNow() {
        shutdownNow(Status.UNAVAILABLE.withDescription("Channel shutdownNow invoked"));
        return this;
    }

    /** The same, and all calls end so. */
    void shutdownNow(Status status) {
        shutdown();
        for (ChannelCall<?, ?> call : calls) {
            call.end(status);
        }
        calls.forEach(call -> ends(call, false)); // their listeners may hear of it on executors that never run again
    }

    @Override
    public boolean isShutdown() {
        return shutdown;
    }

    @Override
    public boolean isTerminated() {
        return terminated.getCount() == 0;
    }

    @Override
    public boolean awaitTermination(long time, TimeUnit unit) throws InterruptedException {
        return terminated.await(time, unit);
    }

    @Override
    public String toString() {
        return "RdmaChannel[" + authority() + " over " + client.transport() + "]";
    }
}
