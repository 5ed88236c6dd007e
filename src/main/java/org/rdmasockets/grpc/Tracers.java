package org.rdmasockets.grpc;

import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ClientStreamTracer;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StreamTracer;
import java.util.List;

/**
 * The tracers of one call at one end. They hear of each message that goes and comes, and once of the end. Messages go
 * one at a time, and come one at a time.
 */
final class Tracers {
    /** The tracers of a call that is not traced. */
    static final Tracers NONE = new Tracers(new StreamTracer[0]);

    private final StreamTracer[] all;
    private int sent;
    private int received;

    private Tracers(StreamTracer[] all) {
        this.all = all;
    }

    /** The tracers of a server's call. */
    static Tracers of(List<ServerStreamTracer.Factory> factories, String method, Metadata headers) {
        if (factories.isEmpty()) {
            return NONE;
        }
        StreamTracer[] made = new StreamTracer[factories.size()];
        for (int i = 0; i < made.length; i++) {
            made[i] = factories.get(i).newServerStreamTracer(method, headers);
        }
        return new Tracers(made);
    }

    /** The tracers of a client's call, which may add to the headers. */
    static Tracers of(CallOptions options, Metadata headers) {
        List<ClientStreamTracer.Factory> factories = options.getStreamTracerFactories();
        if (factories.isEmpty()) {
            return NONE;
        }
        ClientStreamTracer.StreamInfo info =
                ClientStreamTracer.StreamInfo.newBuilder().setCallOptions(options).build();
        StreamTracer[] made = new StreamTracer[factories.size()];
        for (int i = 0; i < made.length; i++) {
            made[i] = factories.get(i).newClientStreamTracer(info, headers);
        }
        return new Tracers(made);
    }

    /** The context of a server's call, from that of the server. */
    Context filter(Context server) {
        Context context = server;
        for (StreamTracer tracer : all) {
            context = ((ServerStreamTracer) tracer).filterContext(context);
        }
        return context;
    }

    /** A server's call has reached its method. */
    void started(ServerStreamTracer.ServerCallInfo<?, ?> call) {
        for (StreamTracer tracer : all) {
            ((ServerStreamTracer) tracer).serverCallStarted(call);
        }
    }

    /** A client's call goes to its server; its headers are complete except for those of tracers. */
    void created(Attributes transport, Metadata headers) {
        for (StreamTracer tracer : all) {
            ((ClientStreamTracer) tracer).streamCreated(transport, headers);
        }
    }

    /** A client's headers go. */
    void headersSent() {
        for (StreamTracer tracer : all) {
            ((ClientStreamTracer) tracer).outboundHeaders();
        }
    }

    /** A server's headers have come. */
    void headersCame(Metadata headers) {
        for (StreamTracer tracer : all) {
            ((ClientStreamTracer) tracer).inboundHeaders(headers);
        }
    }

    /** The end has come from the server. */
    void trailersCame(Metadata trailers) {
        for (StreamTracer tracer : all) {
            ((ClientStreamTracer) tracer).inboundTrailers(trailers);
        }
    }

    /** A message goes: so many bytes over the wire, and before it was compressed. */
    void sent(long wire, long plain) {
        if (all.length > 0) {
            int number = sent++;
            for (StreamTracer tracer : all) {
                tracer.outboundMessage(number);
                tracer.outboundMessageSent(number, wire, plain);
                tracer.outboundWireSize(wire);
                tracer.outboundUncompressedSize(plain);
            }
        }
    }

    /** A message has come. */
    void received(long wire, long plain) {
        if (all.length > 0) {
            int number = received++;
            for (StreamTracer tracer : all) {
                tracer.inboundMessage(number);
                tracer.inboundWireSize(wire);
                tracer.inboundMessageRead(number, wire, plain);
                tracer.inboundUncompressedSize(plain);
            }
        }
    }

    /** The call is over: said once. */
    void closed(Status status) {
        for (StreamTracer tracer : all) {
            tracer.streamClosed(status);
        }
    }
}
