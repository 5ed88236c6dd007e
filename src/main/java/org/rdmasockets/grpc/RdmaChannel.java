package org.rdmasockets.grpc;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcMetadata;

/** A gRPC channel over a client of calls. */
final class RdmaChannel extends ManagedChannel {
    /** The carrier of the calls. */
    final RpcClient client;
    final Settings settings;
    /** Each call of this channel sends these first. */
    private final RpcMetadata ownHeaders;
    private final Channel intercepted;
    private final Set<ChannelCall<?, ?>> calls = ConcurrentHashMap.newKeySet();
    private final CountDownLatch terminated = new CountDownLatch(1);
    private volatile boolean shutdown;
    /** As last seen; guarded by stateLock, as the tasks to run at a change. */
    private ConnectivityState state = ConnectivityState.IDLE;
    private List<Runnable> told = new ArrayList<>();
    private final Object stateLock = new Object();

    /** The settings of a channel; a call without a deadline waits for a connection for {@code retryTime}. */
    record Settings(String authority, String userAgent, Executor executor, Duration retryTime) {}

    /** A channel over a client that it is told how to make; the last interceptor runs first. */
    RdmaChannel(Function<Consumer<RpcClient.Connectivity>, RpcClient> client, Settings settings,
            List<ClientInterceptor> interceptors) {
        this.settings = settings;
        this.client = client.apply(this::clientIs);
        ownHeaders = RpcMetadata.of(List.of(Encoding.entry(Encoding.AUTHORITY, settings.authority()),
                Encoding.entry("user-agent", settings.userAgent())));
        intercepted = ClientInterceptors.intercept(new Channel() {
            @Override
            public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
                return new ChannelCall<>(RdmaChannel.this, method, options);
            }

            @Override
            public String authority() {
                return RdmaChannel.this.authority();
            }
        }, interceptors);
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

    /** Runs a callback, and not on this thread, which others may need. */
    private void tell(Runnable callback) {
        Executor where = settings.executor() == Encoding.DIRECT ? Encoding.VIRTUAL : settings.executor();
        try {
            where.execute(callback);
        } catch (RejectedExecutionException | Error e) { // it takes no more, or has no thread
            Encoding.VIRTUAL.execute(callback);
        }
    }

    @Override
    public ConnectivityState getState(boolean requestConnection) {
        boolean connected = client.isConnected();
        ConnectivityState now;
        synchronized (stateLock) {
            now = state;
        }
        if (now == ConnectivityState.READY && !connected) {
            now = ConnectivityState.IDLE;
            state(now);
        } else if (connected && now != ConnectivityState.SHUTDOWN) {
            now = ConnectivityState.READY;
            state(now);
        }
        if (requestConnection && !connected && !shutdown) {
            Thread.ofVirtual().name("rdma-grpc-connect").start(() -> {
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

    /** A call begins; false if there are to be none. */
    boolean begins(ChannelCall<?, ?> call) {
        calls.add(call);
        if (shutdown) { // after the call can be seen: pairs with shutdown
            ends(call);
            return false;
        }
        return true;
    }

    /** A call has ended. */
    void ends(ChannelCall<?, ?> call) {
        calls.remove(call);
        endIfDone();
    }

    private void endIfDone() {
        if (shutdown && calls.isEmpty()) {
            client.close();
            terminated.countDown();
        }
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
        shutdown();
        for (ChannelCall<?, ?> call : calls) {
            call.end(Status.UNAVAILABLE.withDescription("Channel shutdownNow invoked"));
            ends(call); // its listener may hear of it on an executor that never runs again
        }
        return this;
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
