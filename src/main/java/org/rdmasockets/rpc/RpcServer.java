package org.rdmasockets.rpc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.rpc.call.CallMethod;
import org.rdmasockets.internal.rpc.call.CallServer;
import org.rdmasockets.internal.rpc.call.CallServer.Settings;
import org.rdmasockets.internal.rpc.call.CallStream;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.call.EndpointCarrier;
import org.rdmasockets.internal.rpc.session.SessionHub;

/**
 * Methods by their names, for clients that call them.
 *
 * @since 0.1
 */
public final class RpcServer implements AutoCloseable {
    private final CallServer server;

    private RpcServer(CallServer server) {
        this.server = server;
    }

    /** {@return a builder of servers} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the address and port where it listens} */
    public InetSocketAddress localAddress() {
        return server.localAddress();
    }

    /** {@return how many calls run now} */
    public int calls() {
        return server.calls();
    }

    /**
     * Datagrams that were dropped: damaged, forged, of no session, or beyond what there is room for. Each is as if the
     * network had lost it.
     *
     * @return how many; 0 for a server without datagrams
     */
    public long droppedDatagrams() {
        return server.dropped();
    }

    /** The memory of calls that run at most once, in bytes; for tests. */
    long rememberedBytes() {
        return server.rememberedBytes();
    }

    /** Takes no more connections and calls; those that have begun go on. Returns at once. Idempotent. */
    public void shutdown() {
        server.shutdown();
    }

    /**
     * Waits until all calls have ended after {@link #shutdown}.
     *
     * @param limit longest wait
     * @return false if some go on
     * @throws InterruptedException if this thread was interrupted
     */
    public boolean awaitTermination(Duration limit) throws InterruptedException {
        return server.awaitEnd(NanoTimes.nanos(limit));
    }

    /** Ends all calls and connections at once. Idempotent. */
    @Override
    public void close() {
        server.close();
    }

    @Override
    public String toString() {
        return "RpcServer[" + localAddress() + "]";
    }

    /**
     * The settings of a server. Not for use by two threads at a time.
     *
     * @since 0.1
     */
    public static final class Builder {
        private final Map<String, CallMethod> methods = new ConcurrentHashMap<>();
        private RpcDatagrams datagrams;
        private int maxMessage = Settings.DEFAULT.maxMessage();
        private int maxCalls = Settings.DEFAULT.maxCalls();
        private int maxCallsPerConnection = Settings.DEFAULT.maxCallsPerConnection();
        private int maxConnections = Settings.DEFAULT.maxConnections();
        private long memoryBytes = Settings.DEFAULT.memoryBytes();
        private long memoryNanos = Settings.DEFAULT.memoryNanos();

        private Builder() {}

        /**
         * Adds a method with one request and one answer.
         *
         * @param method its name, at most 4 KiB
         * @param handler runs it
         * @return this
         * @throws IllegalArgumentException if there is such a method
         */
        public Builder unary(String method, RpcHandler handler) {
            Objects.requireNonNull(handler);
            return add(method, new CallMethod.Unary((stream, request) -> {
                RpcServerCall call = new RpcServerCall(stream);
                try {
                    byte[] answer = Objects.requireNonNull(handler.answer(request, call), "the answer");
                    call.flushHeaders();
                    if (call.trailers() == RpcMetadata.EMPTY) {
                        return answer;
                    }
                    stream.finish(RpcStatus.OK.ordinal(), "", call.trailers().encode(), answer);
                } catch (RpcException e) {
                    fail(stream, call, e);
                }
                return null;
            }, true));
        }

        /**
         * Adds a method with any number of requests and answers.
         *
         * @param method its name, at most 4 KiB
         * @param handler runs it
         * @return this
         * @throws IllegalArgumentException if there is such a method
         */
        public Builder streaming(String method, RpcStreamHandler handler) {
            Objects.requireNonNull(handler);
            return add(method, new CallMethod.Streaming(stream -> {
                RpcServerCall call = new RpcServerCall(stream);
                try {
                    handler.handle(call);
                    call.flushHeaders();
                    stream.finish(RpcStatus.OK.ordinal(), "", call.trailers().encode(), null);
                } catch (RpcException e) {
                    fail(stream, call, e);
                }
            }));
        }

        private static void fail(CallStream stream, RpcServerCall call, RpcException e) {
            call.flushHeaders();
            RpcMetadata trailers = e.trailers() == RpcMetadata.EMPTY ? call.trailers() : e.trailers();
            stream.finish(e.status().ordinal(), e.getMessage(), trailers.encode(), null);
        }

        private Builder add(String method, CallMethod what) {
            if (methods.putIfAbsent(method, what) != null) {
                throw new IllegalArgumentException("there is a method " + method + " already");
            }
            return this;
        }

        /**
         * Takes calls in sessions over datagrams, one {@code RdmaDatagramSocket} for all clients, which need the same
         * setting: over shared memory from processes of this host, over one datagram queue pair where RDMA devices lead
         * from one to the other, over UDP from elsewhere. Without this, calls come over connections between endpoints.
         *
         * @return this
         */
        public Builder datagrams() {
            return datagrams(RdmaDatagramSocket::new);
        }

        /**
         * The same over a socket of another kind, such as {@code DatagramSocket::new}, which is UDP and nothing else.
         *
         * @param sockets makes it
         * @return this
         */
        public Builder datagrams(RpcDatagrams sockets) {
            datagrams = Objects.requireNonNull(sockets);
            return this;
        }

        /**
         * The longest request. 4 MiB without this.
         *
         * @param bytes at least 1
         * @return this
         */
        public Builder maxMessage(int bytes) {
            maxMessage = Settings.atLeastOne(bytes, "the longest message");
            return this;
        }

        /**
         * The most calls at once, with those that were given up and whose method still runs; more are refused by
         * {@link RpcStatus#RESOURCE_EXHAUSTED}, and made again by clients of this library as long as they have time.
         * One address, of IPv6 a network of 64 bits, has three quarters of them at most, rounded up. Calls of whose
         * request nothing has come for a second, and whose method has sent nothing, give their places up where others
         * want them. 10,000 without this.
         *
         * @param calls at least 1
         * @return this
         */
        public Builder maxCalls(int calls) {
            maxCalls = Settings.atLeastOne(calls, "the number of calls");
            return this;
        }

        /**
         * The most calls at once of one connection, with those that were given up and whose method still runs; callers
         * of clients of this library wait. 1,024 without this.
         *
         * @param calls at least 1
         * @return this
         */
        public Builder maxCallsPerConnection(int calls) {
            maxCallsPerConnection = Settings.atLeastOne(calls, "the number of calls of a connection");
            return this;
        }

        /**
         * The most connections; more are hung up on, but first the oldest that has not greeted. One address has three
         * quarters of them at most, rounded up. 4,096 without this.
         *
         * @param connections at least 1
         * @return this
         */
        public Builder maxConnections(int connections) {
            maxConnections = Settings.atLeastOne(connections, "the number of connections");
            return this;
        }

        /**
         * How much is remembered of calls that are not idempotent, so that none runs twice. One client has at most an
         * eighth. 64 MiB, a minute, without this.
         *
         * @param bytes at least 4,096
         * @param time for a client without a connection
         * @return this
         */
        public Builder answerMemory(long bytes, Duration time) {
            if (bytes < 4096) {
                throw new IllegalArgumentException("the memory of answers has at least 4,096 bytes, not " + bytes);
            }
            memoryBytes = bytes;
            memoryNanos = NanoTimes.nanos(time);
            return this;
        }

        /**
         * Listens on all addresses.
         *
         * @param port 0 for any that is free
         * @return the server
         * @throws IOException as {@link #listen(InetSocketAddress)}
         */
        public RpcServer listen(int port) throws IOException {
            return listen(new InetSocketAddress(port));
        }

        /**
         * Listens.
         *
         * @param local address, may be the wildcard, and port, 0 for any that is free
         * @return the server
         * @throws IOException {@code BindException} if the port is taken or the address is no RDMA device's
         */
        public RpcServer listen(InetSocketAddress local) throws IOException {
            return listen(datagrams == null ? EndpointCarrier.listen(local, maxMessage)
                    : SessionHub.listen(datagrams.bind(local), maxMessage));
        }

        /** Serves what comes from a listener. */
        RpcServer listen(Carrier.Listener listener) {
            return new RpcServer(CallServer.over(listener, Map.copyOf(methods)::get, new Settings(maxMessage, maxCalls,
                    maxCallsPerConnection, maxConnections, Settings.DEFAULT.maxHeldBytes(), memoryBytes, memoryNanos)));
        }
    }
}
