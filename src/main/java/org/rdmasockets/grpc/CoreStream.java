package org.rdmasockets.grpc;

import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ClientStreamTracer;
import io.grpc.Codec;
import io.grpc.Compressor;
import io.grpc.Deadline;
import io.grpc.DecompressorRegistry;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.internal.ClientStream;
import io.grpc.internal.ClientStreamListener;
import io.grpc.internal.ClientStreamListener.RpcProgress;
import io.grpc.internal.InsightBuilder;
import java.io.InputStream;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmasockets.internal.lock.LibraryThreads;

/** A call of a channel of gRPC's core, as a call of the channel that is its connection. */
final class CoreStream implements ClientStream {
    /** Messages pass as they are. */
    private static final MethodDescriptor.Marshaller<InputStream> BYTES = new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(InputStream message) {
            return message;
        }

        @Override
        public InputStream parse(InputStream message) {
            return message;
        }
    };

    private final CoreTransports.CoreTransport transport;
    private final MethodDescriptor<?, ?> method;
    private final Metadata headers;
    private CallOptions options;
    private final Runnable leaving;
    private final Runnable ending;
    private final AtomicBoolean ended = new AtomicBoolean();
    /** Set by start. */
    private volatile ChannelCall<InputStream, InputStream> call;

    /** All other options come by setters. */
    CoreStream(CoreTransports.CoreTransport transport, MethodDescriptor<?, ?> method, Metadata headers,
            Integer readyBytes, ClientStreamTracer[] tracers) {
        this.transport = transport;
        this.method = method;
        this.headers = headers;
        leaving = transport::leaveIfLost;
        ending = transport::ends;
        options = CallOptions.DEFAULT.withExecutor(Encoding.DIRECT);
        if (readyBytes != null) {
            options = options.withOnReadyThreshold(readyBytes);
        }
        for (ClientStreamTracer tracer : tracers) {
            options = options.withStreamTracerFactory(new ClientStreamTracer.Factory() {
                @Override
                public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata more) {
                    return tracer;
                }
            });
        }
    }

    // Before the start.

    @Override
    public void setAuthority(String authority) {
        options = options.withAuthority(authority);
    }

    @Override
    public void setDeadline(Deadline deadline) {
        options = options.withDeadline(deadline);
    }

    @Override
    public void setMaxInboundMessageSize(int most) {
        options = options.withMaxInboundMessageSize(most);
    }

    @Override
    public void setMaxOutboundMessageSize(int most) {
        options = options.withMaxOutboundMessageSize(most);
    }

    @Override
    public void setCompressor(Compressor compressor) {
        if (compressor != Codec.Identity.NONE) {
            options = options.withCompression(compressor.getMessageEncoding());
        }
    }

    /** The same as that of the transport. */
    @Override
    public void setDecompressorRegistry(DecompressorRegistry registry) {
    }

    /** Each message is compressed by itself. */
    @Override
    public void setFullStreamDecompression(boolean whole) {
    }

    /** A call that is not made again by the connection: gRPC's core does that. */
    @Override
    public void start(ClientStreamListener listener) {
        MethodDescriptor<InputStream, InputStream> bytes = method.toBuilder(BYTES, BYTES)
                .setType(MethodDescriptor.MethodType.BIDI_STREAMING).setIdempotent(false).setSafe(false).build();
        ChannelCall<InputStream, InputStream> made = new ChannelCall<>(transport.channel(), bytes, options);
        call = made;
        transport.begins();
        boolean started = false;
        try {
            start(made, listener);
            started = true;
        } finally {
            if (!started) {
                end();
            }
        }
    }

    private void start(ChannelCall<InputStream, InputStream> made, ClientStreamListener listener) {
        made.start(new ClientCall.Listener<>() {
            @Override
            public void onHeaders(Metadata arrived) {
                listener.headersRead(arrived);
            }

            @Override
            public void onMessage(InputStream message) {
                InputStream[] left = {message};
                listener.messagesAvailable(() -> {
                    InputStream next = left[0];
                    left[0] = null;
                    return next;
                });
            }

            @Override
            public void onReady() {
                listener.onReady();
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
                try {
                    RpcProgress progress = made.isRefused() ? RpcProgress.REFUSED
                            : made.isUnsent() && status.getCode() == Status.Code.UNAVAILABLE ? RpcProgress.MISCARRIED
                            : RpcProgress.PROCESSED;
                    if (progress != RpcProgress.PROCESSED) {
                        LibraryThreads.insist(leaving); // gRPC makes it again at once, and not here if that leaves
                    }
                    listener.closed(status, progress, trailers);
                } finally {
                    end(); // its listener is told first, as over Netty
                }
            }
        }, headers);
    }

    /** The transport has one stream less, once: a start that fails and the listener's end may come together. */
    private void end() {
        if (ended.compareAndSet(false, true)) {
            LibraryThreads.insist(ending);
        }
    }

    // After it.

    @Override
    public void request(int messages) {
        call.request(messages);
    }

    @Override
    public void writeMessage(InputStream message) {
        call.sendMessage(message);
    }

    @Override
    public void flush() {
        // Nothing is kept.
    }

    @Override
    public boolean isReady() {
        return call != null && call.hasRoom();
    }

    @Override
    public void optimizeForDirectExecutor() {
        // It runs as it does.
    }

    @Override
    public void setMessageCompression(boolean enabled) {
        ChannelCall<InputStream, InputStream> made = call;
        if (made != null) {
            made.setMessageCompression(enabled);
        }
    }

    @Override
    public void halfClose() {
        call.halfClose();
    }

    @Override
    public void cancel(Status why) {
        call.end(why);
    }

    @Override
    public Attributes getAttributes() {
        return transport.getAttributes();
    }

    @Override
    public void appendTimeoutInsight(InsightBuilder insight) {
        insight.appendKeyValue("remote_addr", transport.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
    }
}
