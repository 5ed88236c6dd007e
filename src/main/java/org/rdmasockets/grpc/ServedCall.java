package org.rdmasockets.grpc;

import io.grpc.Attributes;
import io.grpc.Codec;
import io.grpc.Compressor;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Decompressor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.rpc.RpcMetadata;
import org.rdmasockets.internal.rpc.call.CallStream;
import org.rdmasockets.internal.rpc.call.Code;
import org.rdmasockets.internal.rpc.call.MessageTooLong;

/** A call at its server. The serial task alone calls the listener; the application calls it one thread at a time. */
final class ServedCall<Q, A> extends ServerCall<Q, A> {
    /** Sent with the headers, even if the application has none, so that the client learns that they have come. */
    private static final List<RpcMetadata.Entry> CONTENT_TYPE =
            List.of(Encoding.entry("content-type", "application/grpc"));

    private final CallStream stream;
    private final MethodDescriptor<Q, A> method;
    private final ServerCallHandler<Q, A> handler;
    private final RdmaServer.Serving serving;
    private final SerialTask task;
    private final AtomicLong requested = new AtomicLong();
    /** Set before the listener; read by the thread that hears of a cancellation. */
    private volatile Context.CancellableContext context;
    /** A request that came with the call and was taken from the stream; serial. */
    private byte[] first;
    private Tracers tracers = Tracers.NONE;
    /** Null if requests are as they are. */
    private Decompressor decompressor;
    /** Null before the start; serial, as the next two. */
    private Listener<Q> listener;
    private boolean inputEnded;
    private boolean over;
    /** Whether the listener was told of the beginning; serial. */
    private boolean toldBegun;
    /** Whether the listener knows that the call is ready; false again when it no longer is. */
    private volatile boolean toldReady;
    private volatile String authority;
    /** Whether the application's supplier was asked for an executor; serial. */
    private boolean moved;
    /** The encodings that the client can read; null for gRPC's own. Set before the listener. */
    private String accepted;

    /** The error that ends the call at its server; null while there is none. Set by the serial task, and a sender. */
    private volatile Throwable failing;
    /** Whether an error lost a message: none is sent after it. */
    private volatile boolean lost;

    // Set by the application's threads, and read by them only.
    private boolean headersSent;
    private boolean closed;
    /** Null if answers go as they are. */
    private Compressor compressor;
    private boolean compresses = true;

    /** Messages that wait to be sent; its monitor guards it, and all below. */
    private final ArrayDeque<byte[]> outbox = new ArrayDeque<>(1);
    /** How the call shall end when the outbox is empty; null before the application has said so. */
    private Status end;
    private byte[] trailers;
    /** The only answer, which goes with the end. */
    private byte[] answer;
    /** Whether the call ends as set above, not by its client or deadline: then only too long an answer changes that. */
    private volatile boolean finished;
    /** Whether the end was counted, and the tracers told. */
    private boolean traced;
    /** Requests to send since the sending thread last looked; 0 if no thread sends. */
    private final AtomicInteger flushes = new AtomicInteger();

    ServedCall(CallStream stream, MethodDescriptor<Q, A> method, ServerCallHandler<Q, A> handler,
            RdmaServer.Serving serving) {
        this.stream = stream;
        this.method = method;
        this.handler = handler;
        this.serving = serving;
        task = new SerialTask(serving.executor(), this::look, this::refused);
        stream.keepPlace(CallStream.CALLBACKS);
    }

    /** Begins on the executor. */
    void begin() {
        stream.listen(this::onNews);
    }

    /** Begins on this thread, with the request; later work of the call runs on the executor. */
    void runHere(byte[] request) {
        first = request;
        task.hold();
        stream.listen(this::onNews);
        task.runHere();
    }

    /** The reader: something has come, or the call is over. */
    private void onNews() {
        Context.CancellableContext cancelled = context;
        if (cancelled != null && stream.code() >= 0 && !finished && !cancelled.isCancelled()) {
            cancel(cancelled, cause());
        }
        task.schedule();
    }

    /** Cancels the context on another thread: that may call the application, and others may need this thread. */
    private void cancel(Context.CancellableContext begun, Throwable cause) {
        stream.keepPlace(CallStream.CANCELLATION);
        boolean starts = false;
        try {
            LibraryThreads.start("rdma-grpc-cancel", Thread.currentThread().getContextClassLoader(), () -> {
                try {
                    begun.cancel(cause);
                } finally {
                    stream.leavePlace(CallStream.CANCELLATION);
                }
            });
            starts = true;
        } finally {
            if (!starts) {
                stream.leavePlace(CallStream.CANCELLATION);
            }
        }
    }

    /** The executor takes no more work of the call: nothing of the application runs elsewhere. */
    private void refused(RuntimeException e) {
        if (over) {
            return;
        }
        Status status = Status.INTERNAL.withDescription("the executor of the server has refused the call: " + e);
        Context.CancellableContext begun = context;
        if (begun != null) {
            traceEnd(finished ? endStatus() : status);
        }
        Encoding.finish(stream, status);
        over = true; // the body no longer runs
        try {
            if (begun != null) {
                cancel(begun, e);
            }
        } finally {
            stream.leavePlace(CallStream.CALLBACKS);
        }
    }

    private Throwable cause() {
        return stream.code() == Code.DEADLINE_EXCEEDED ? new TimeoutException(stream.text())
                : Status.CANCELLED.withDescription(stream.text()).asRuntimeException();
    }

    private void look() {
        if (over) {
            return;
        }
        try {
            if (failing == null && (listener != null || start())) {
                takeSteps();
            }
        } catch (Throwable e) {
            failing = e;
        }
        try {
            if (failing != null) {
                fail(failing, Status.UNKNOWN.withDescription("Application error processing RPC"));
            }
        } finally {
            if (over) {
                stream.leavePlace(CallStream.CALLBACKS);
            }
        }
    }

    private void takeSteps() throws IOException {
        Context previous = context.attach();
        try {
            while (step()) {
                continue;
            }
        } finally {
            context.detach(previous);
        }
    }

    /** Begins the call; false if it cannot, or goes on elsewhere. */
    private boolean start() {
        Metadata headers;
        boolean more;
        try {
            RpcMetadata arrived = Encoding.arrived(stream.headers(), serving.maxMetadata());
            authority = arrived.firstText(Encoding.AUTHORITY).orElse(null);
            headers = Encoding.metadata(arrived);
            more = arrived.entries().size() > Encoding.OWN_HEADERS;
        } catch (IllegalArgumentException e) {
            refuse(Status.INTERNAL.withDescription("the headers are none of gRPC's: " + e.getMessage()));
            return false;
        } catch (StatusException e) {
            refuse(e.getStatus());
            return false;
        }
        if (stream.deadlineNanos() != Long.MAX_VALUE) {
            headers.put(Encoding.TIMEOUT, Encoding.timeout(stream.deadlineNanos() - System.nanoTime()));
        }
        return !moves(headers) && start(headers, more);
    }

    /** Ends the call before it has begun. */
    private void refuse(Status status) {
        Encoding.finish(stream, status);
        over = true; // after the end, which may lack memory
    }

    /** Whether the call moves to another executor, which asks this again. */
    private boolean moves(Metadata headers) {
        if (serving.executors() == null || moved) {
            return false;
        }
        moved = true;
        Executor own;
        try {
            own = serving.executors().getExecutor(this, headers);
        } catch (Throwable e) {
            refuse(Status.fromThrowable(e));
            return true;
        }
        if (own == null) {
            return false;
        }
        task.moveTo(own);
        return true;
    }

    /** Calls the handler; only headers with more than each channel sends may name encodings. */
    private boolean start(Metadata headers, boolean more) {
        Context around = serving.root();
        Throwable failed = null;
        try {
            tracers = Tracers.of(serving.tracers(), method.getFullMethodName(), headers);
            around = tracers.filter(around);
            if (more) {
                decompressor = decompressor(headers.get(Compression.ENCODING));
                accepted = headers.get(Compression.ACCEPTED);
            }
        } catch (Throwable e) {
            failed = e;
        }
        long deadline = stream.deadlineNanos();
        context = deadline == Long.MAX_VALUE ? around.withCancellation() : around.withDeadline(
                Deadline.after(deadline - System.nanoTime(), TimeUnit.NANOSECONDS), RdmaServer.Deadlines.SCHEDULER);
        Context previous = context.attach();
        try {
            serving.counts().starts();
            if (failed != null) {
                throw failed;
            }
            if (tracers != Tracers.NONE) {
                tracers.started(new Info());
            }
            listener = handler.startCall(this, headers);
            if (listener == null) {
                throw new NullPointerException("startCall() returned a null listener");
            }
        } catch (Throwable e) {
            listener = new Listener<>() {
            };
            fail(e, Status.fromThrowable(e));
        } finally {
            context.detach(previous);
        }
        return true;
    }

    private Decompressor decompressor(String encoding) {
        if (Compression.isPlain(encoding)) {
            return null;
        }
        Decompressor known = serving.decompressors().lookupDecompressor(encoding);
        if (known == null) {
            throw Status.UNIMPLEMENTED.withDescription("Can't find decompressor for " + encoding)
                    .asRuntimeException();
        }
        return known;
    }

    /** The call, as tracers see it. */
    private final class Info extends ServerStreamTracer.ServerCallInfo<Q, A> {
        @Override
        public MethodDescriptor<Q, A> getMethodDescriptor() {
            return method;
        }

        @Override
        public Attributes getAttributes() {
            return ServedCall.this.getAttributes();
        }

        @Override
        public String getAuthority() {
            return authority;
        }
    }

    /** Does one thing that is due; false if nothing is. */
    private boolean step() throws IOException {
        flush();
        if (!toldReady && isNowReady()) {
            toldBegun = true;
            listener.onReady();
            return true;
        }
        if (stream.code() >= 0) {
            endCall();
            return false;
        }
        byte[] message = requested.get() > 0 && mayTake() ? poll() : null;
        if (message != null) {
            requested.decrementAndGet();
            return deliver(message);
        }
        if (!inputEnded && first == null && stream.isInputEnded() && stream.code() < 0) {
            inputEnded = true;
            listener.onHalfClose();
            return true;
        }
        return false;
    }

    /** Whether the listener is to be told so: at the beginning also if the application has ended the call already. */
    private boolean isNowReady() {
        boolean begins = !toldBegun && !isCancelled();
        toldReady = true; // before the look: pairs with sendMessage
        boolean ready = isReady();
        if (!ready) {
            toldReady = false;
        }
        return ready || begins;
    }

    /** Whether a message may be taken. Not the only one before the request is whole: until then it is counted. */
    private boolean mayTake() {
        return !method.getType().clientSendsOneMessage() || first != null || stream.isWhole();
    }

    private byte[] poll() {
        byte[] message = first;
        first = null;
        return message == null ? stream.poll() : message;
    }

    /** Gives a request to the listener; false if it is damaged, and the call over. */
    private boolean deliver(byte[] arrived) {
        byte[] message = arrived;
        if (decompressor != null) {
            try {
                message = Compression.unpack(arrived, decompressor, serving.maxMessage());
            } catch (StatusException e) {
                fail(e, e.getStatus());
                return false;
            }
        }
        tracers.received(arrived.length, message.length);
        listener.onMessage(method.parseRequest(Encoding.message(message)));
        return true;
    }

    private Status endStatus() {
        if (finished) {
            synchronized (outbox) {
                return end;
            }
        }
        return (stream.code() == Code.DEADLINE_EXCEEDED ? Status.DEADLINE_EXCEEDED : Status.CANCELLED)
                .withDescription(stream.text());
    }

    /** Counts the end, and tells the tracers; the first counts. */
    private void traceEnd(Status status) {
        synchronized (outbox) {
            if (traced) {
                return;
            }
            traced = true;
        }
        serving.counts().ends(status.isOk());
        try {
            tracers.closed(status);
        } catch (RuntimeException | Error e) {
            serving.failures().warn("a tracer of {} has failed", method.getFullMethodName(), e);
        }
    }

    private void endCall() {
        Status status = endStatus();
        Throwable cause = finished ? null : cause();
        over = true; // not before: if the lines above find no memory, they are tried again
        traceEnd(status);
        if (listener == null) {
            return;
        }
        if (finished) {
            try {
                listener.onComplete();
            } finally {
                context.cancel(null);
            }
        } else {
            context.cancel(cause);
            listener.onCancel();
        }
    }

    private void fail(Throwable failure, Status status) {
        if (stream.code() < 0) {
            serving.failures().warn("{} of {} failed", method.getFullMethodName(), stream.carrier().remoteAddress(),
                    failure);
        }
        end(status, new Metadata(), true);
        if (stream.code() >= 0 && !over) {
            try { // the listener hears of the end, whatever it has thrown before: it may have something to free
                (listener == null ? serving.root() : context).run(this::endCall);
            } catch (Throwable e) {
                serving.failures().warn("a listener of {} has failed at its end", method.getFullMethodName(), e);
            }
        }
    }

    // The application calls these.

    @Override
    public void request(int messages) {
        if (messages < 0) {
            throw new IllegalArgumentException("a negative number of messages: " + messages);
        }
        requested.addAndGet(messages);
        task.schedule();
    }

    @Override
    public void sendHeaders(Metadata headers) {
        if (headersSent || closed) {
            throw new IllegalStateException(closed ? "call is closed" : "sendHeaders has already been called");
        }
        headersSent = true;
        boolean unary = method.getType() == MethodDescriptor.MethodType.UNARY;
        byte[] block;
        try {
            List<RpcMetadata.Entry> own = unary ? List.of() : CONTENT_TYPE;
            headers.discardAll(Compression.ENCODING);
            if (compressor != null) {
                own = List.of(Encoding.entry(Compression.ENCODING.name(), compressor.getMessageEncoding()));
            }
            block = Encoding.metadata(own, headers).encode();
        } catch (IllegalArgumentException e) {
            end(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()), new Metadata(), true);
            return;
        }
        if (block != null) {
            stream.send(block, null, false);
        }
    }

    @Override
    public void sendMessage(A message) {
        if (!headersSent || closed) {
            throw new IllegalStateException(closed ? "call is closed" : "sendHeaders has not been called");
        }
        byte[] bytes;
        try {
            byte[] plain = Encoding.bytes(method.streamResponse(message));
            bytes = compressor == null ? plain : Compression.pack(plain, compressor, compresses);
            tracers.sent(bytes.length, plain.length);
        } catch (IOException | RuntimeException e) {
            end(Status.fromThrowable(e).withDescription("the answer cannot be encoded: " + e), new Metadata(), true);
            throw Status.CANCELLED.withDescription("the answer cannot be encoded").withCause(e).asRuntimeException();
        } catch (Error e) {
            try {
                close(Status.CANCELLED.withDescription("Server sendMessage() failed with Error"), new Metadata());
            } catch (RuntimeException | Error again) { // the client must not wait
                failing = e;
                task.schedule();
            }
            throw e;
        }
        if (!method.getType().serverSendsOneMessage()) {
            synchronized (outbox) {
                outbox.add(bytes);
            }
            flush();
            if (!isReady()) { // else left alone: the task may be about to tell
                toldReady = false;
            }
            if (!toldReady && isReady()) { // also if the task has looked while another message went
                task.schedule();
            }
        } else if (answer == null) {
            answer = bytes;
        } else {
            end(Status.INTERNAL.withDescription("Too many responses"), new Metadata(), true);
        }
    }

    @Override
    public void close(Status status, Metadata more) {
        if (closed) {
            throw new IllegalStateException("call already closed");
        }
        closed = true;
        if (status.isOk() && method.getType().serverSendsOneMessage() && answer == null) {
            end(Status.INTERNAL.withDescription("Completed without a response"), new Metadata(), true);
        } else {
            end(status, more, false);
        }
    }

    /** Ends the call with a status, at once or after what waits to be sent; the first end counts. */
    private void end(Status status, Metadata more, boolean now) {
        synchronized (outbox) {
            try {
                if (end == null) {
                    if (now) {
                        outbox.clear();
                    }
                    end = status;
                    answer = status.isOk() ? answer : null;
                    Encoding.STATUS.forEach(more::discardAll);
                    trailers = Encoding.metadata(List.of(), more).encode();
                }
            } catch (IllegalArgumentException e) {
                end = Status.RESOURCE_EXHAUSTED.withDescription("the trailers are too long: " + e.getMessage());
                answer = null;
            }
        }
        flush();
    }

    /** Sends what there is room for, without a lock: listeners of this call, and of others, may hear of it at once. */
    private void flush() {
        StackRoom.ensure(); // a message that is taken out has to be sent
        if (flushes.getAndIncrement() > 0) {
            return; // the thread that sends looks again
        }
        try {
            int seen;
            do {
                seen = flushes.get();
                while (sendNext()) {
                    continue;
                }
            } while (flushes.addAndGet(-seen) != 0);
        } catch (RuntimeException | Error e) {
            failing = e;
            synchronized (outbox) {
                if (!finished) {
                    lost = true;
                    end = null; // the application has ended it, but the client has not got all
                }
            }
            flushes.set(0);
            task.schedule();
            throw e;
        }
    }

    /** Sends a message, or if none is left the end; true if it was a message. */
    private boolean sendNext() {
        byte[] message;
        synchronized (outbox) {
            boolean lives = stream.code() < 0;
            message = lives && !lost && stream.hasRoom() ? outbox.poll() : null;
            finished |= lives && message == null && end != null && outbox.isEmpty();
            if (message == null && !(lives && finished)) {
                return false;
            }
        }
        send(message);
        return message != null;
    }

    /** Sends a message, or if there is none the end, after the tracers: its client may make the next call at once. */
    private void send(byte[] message) {
        try {
            if (message != null) {
                stream.send(null, message, false);
                return;
            }
            stream.checkLength(answer);
        } catch (MessageTooLong e) {
            synchronized (outbox) {
                end = Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage());
                trailers = null;
                answer = null;
                outbox.clear();
            }
        }
        stream.leavePlace(CallStream.CALLBACKS | CallStream.METHOD); // the thread that began this may be late
        traceEnd(end);
        String text = end.getDescription();
        stream.finish(end.getCode().value(), text == null ? "" : text, trailers, answer);
    }

    @Override
    public boolean isReady() {
        if (method.getType().serverSendsOneMessage()) {
            return stream.code() < 0;
        }
        synchronized (outbox) {
            return outbox.isEmpty() && stream.hasRoom();
        }
    }

    @Override
    public boolean isCancelled() {
        return stream.code() >= 0 && !finished;
    }

    @Override
    public void setMessageCompression(boolean enabled) {
        compresses = enabled;
    }

    /** Answers go uncompressed to a client that says what it can read, if this is not among that. */
    @Override
    public void setCompression(String name) {
        if (headersSent) {
            throw new IllegalStateException("sendHeaders has been called");
        }
        Compressor known = serving.compressors().lookupCompressor(name);
        if (known == null) {
            throw new IllegalArgumentException("Unable to find compressor by name " + name);
        }
        boolean readable = accepted == null
                || Arrays.stream(accepted.split(",")).map(String::strip).anyMatch(name::equals);
        compressor = known == Codec.Identity.NONE || !readable ? null : known;
    }

    @Override
    public Attributes getAttributes() {
        return RdmaChannel.attributes(stream.carrier().localAddress(), stream.carrier().remoteAddress());
    }

    @Override
    public String getAuthority() {
        return authority;
    }

    @Override
    public MethodDescriptor<Q, A> getMethodDescriptor() {
        return method;
    }

    @Override
    public String toString() {
        return stream.toString();
    }
}
