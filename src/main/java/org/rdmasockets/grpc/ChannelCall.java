package org.rdmasockets.grpc;

import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Compressor;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Deadline;
import io.grpc.Decompressor;
import io.grpc.Attributes;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.rpc.call.Code;
import org.rdmasockets.rpc.RpcClientCall;
import org.rdmasockets.rpc.RpcException;
import org.rdmasockets.rpc.RpcMetadata;
import org.rdmasockets.rpc.RpcOptions;
import org.rdmasockets.rpc.RpcPending;
import org.rdmasockets.rpc.RpcStatus;

/**
 * A call at its client. One with one request and one answer is made when the request is whole, and again if it may be;
 * all others are streams. The body of the serial task alone calls the listener.
 */
final class ChannelCall<Q, A> extends ClientCall<Q, A> {
    /** The executor of a blocking stub, which waits for nothing but the answer. */
    private static final String WAITING_STUB = "io.grpc.stub.ClientCalls$ThreadlessExecutor";
    /** Longest message that is sent at once; a longer one may go in parts, on a thread that may wait. */
    private static final int AT_ONCE_BYTES = 8_000;
    /** A call is ready while fewer bytes wait to be sent, as over Netty, unless its options say otherwise. */
    private static final int READY_BYTES = 32 << 10;
    private static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);
    private static final Status NO_ROOM = Status.INTERNAL.withDescription("no memory or stack for the call");

    private final RdmaChannel channel;
    private final MethodDescriptor<Q, A> method;
    private final CallOptions options;
    private final boolean unary;
    /** Whether the listener hears of {@code onReady}: as over Netty not of a call with one request. */
    private final boolean tellsReady;
    private final int readyBytes;
    private final Context context;
    private final Thread maker;
    private final SerialTask task;
    private final Runnable endForWant = this::endForWant;
    private final Runnable newsTask = this::news;
    private final AtomicLong requested = new AtomicLong();
    private final Context.CancellationListener cancellation = this::contextCancelled;
    /** Set by start. */
    private volatile Listener<A> listener;
    private volatile Deadline deadline;
    private volatile RpcMetadata headers;
    /** Set before the call is made, as is the next one. */
    private Tracers tracers = Tracers.NONE;
    /** Null if requests go as they are. */
    private Compressor compressor;
    private volatile boolean compresses = true;
    /** When it started, if it has a deadline. */
    private long startedNanos;

    // Serial.
    private boolean headersTold;
    /** Null if answers are as they are. */
    private Decompressor decompressor;
    /** Whether the listener was told of the beginning, and knows that there is room. */
    private boolean toldBegun;
    private volatile boolean toldReady;
    private boolean answered;
    /** The text of the end's status if the listener throws now; gRPC's words. */
    private String telling = "the call has failed";
    /** The error that has ended the call here; null while there is none. */
    private Throwable failing;
    /** How it has ended, once it is over; the listener is told once. */
    private Status endStatus;
    private Metadata endTrailers;
    private boolean closeTold;
    private volatile boolean over;

    /** The status with which {@link #end} cuts the call short; null while it has not. */
    private volatile Status cut;
    /** Whether the application has cancelled it. */
    private volatile boolean cancelled;
    private volatile RpcClientCall stream;
    private volatile RpcPending pending;
    /** The thread that waits for a connection, a place or room to begin the call; null for none. */
    private volatile Thread beginner;
    /** Whether the pending call is over: the next two say how. */
    private volatile boolean collected;
    private volatile boolean pendingEnded;
    private byte[] answer;
    private RpcException failure;

    /** Requests to send since the sending thread last looked; 0 if no thread sends. */
    private final AtomicInteger flushes = new AtomicInteger();
    /** Messages that wait, or are being sent; its monitor guards it, and all below. */
    final ArrayDeque<byte[]> outbox = new ArrayDeque<>(1);
    /** The bytes of those. */
    private long waiting;
    private boolean halfClosed;
    /** Whether headers are complete, so that the call may begin. */
    private boolean mayBegin;

    ChannelCall(RdmaChannel channel, MethodDescriptor<Q, A> method, CallOptions options) {
        this.channel = channel;
        this.method = method;
        this.options = options;
        unary = method.getType() == MethodType.UNARY;
        tellsReady = !method.getType().clientSendsOneMessage();
        Integer ready = options.getOnReadyThreshold();
        readyBytes = ready == null ? READY_BYTES : ready;
        context = Context.current();
        maker = Thread.currentThread();
        task = new SerialTask(executor(), this::look, null);
    }

    private Executor executor() {
        Executor own = options.getExecutor();
        return own == null ? channel.settings.executor() : own;
    }

    @Override
    public void start(Listener<A> told, Metadata more) {
        StackRoom.ensure(); // an overflow in the JDK's scheduler can leave its lock held for good
        if (listener != null || cut != null) {
            throw new IllegalStateException(listener == null ? "call was cancelled" : "Already started");
        }
        Objects.requireNonNull(told, "observer");
        tracers = Tracers.of(options, Objects.requireNonNull(more, "headers"));
        listener = told;
        Status refused = refusal();
        if (refused != null || !channel.begins(this)) {
            end(refused == null ? Status.UNAVAILABLE.withDescription("Channel shutdown invoked") : refused);
            return;
        }
        try {
            context.addListener(cancellation, Runnable::run);
            CallCredentials credentials = options.getCredentials();
            if (credentials == null) {
                mayBegin(more);
            } else {
                if (deadline != null) {
                    deadline.runOnExpiration(() -> end(tooLate()), RdmaServer.Deadlines.SCHEDULER);
                }
                ask(credentials, more);
            }
        } catch (RuntimeException | Error e) { // the channel waits for its end
            endBy("", e);
        }
    }

    /** Why the call cannot begin; null if it can. */
    private Status refusal() {
        if (context.isCancelled()) {
            return Contexts.statusFromCancelled(context);
        }
        String encoding = options.getCompressor();
        if (!Compression.isPlain(encoding)) {
            compressor = channel.settings.compressors().lookupCompressor(encoding);
            if (compressor == null) {
                return Status.INTERNAL.withDescription("Unable to find compressor by name " + encoding);
            }
        }
        Deadline own = options.getDeadline();
        Deadline around = context.getDeadline();
        deadline = own == null || around != null && around.isBefore(own) ? around : own;
        startedNanos = deadline == null ? 0 : System.nanoTime();
        return deadline != null && deadline.isExpired() ? Status.DEADLINE_EXCEEDED.withDescription(String.format(
                Locale.ROOT, "ClientCall started after CallOptions deadline was exceeded %.9f seconds ago",
                -deadline.timeRemaining(TimeUnit.NANOSECONDS) / 1e9)) : null;
    }

    private Status tooLate() {
        return tooLate(Code.TOO_LATE);
    }

    /** The words are gRPC's, which programs look for; the reason is in brackets. */
    private Status tooLate(String why) {
        return Status.DEADLINE_EXCEEDED.withDescription(String.format(Locale.ROOT,
                "CallOptions deadline exceeded after %.9fs. [%s; %s]", (System.nanoTime() - startedNanos) / 1e9, why,
                channel.authority()));
    }

    private void contextCancelled(Context cancelled) {
        end(Contexts.statusFromCancelled(cancelled));
    }

    private void ask(CallCredentials credentials, Metadata more) {
        String own = options.getAuthority();
        String authority = own == null ? channel.authority() : own;
        try {
            credentials.applyRequestMetadata(new CallCredentials.RequestInfo() {
                @Override
                public MethodDescriptor<?, ?> getMethodDescriptor() {
                    return method;
                }

                @Override
                public CallOptions getCallOptions() {
                    return options;
                }

                @Override
                public SecurityLevel getSecurityLevel() {
                    return SecurityLevel.NONE;
                }

                @Override
                public String getAuthority() {
                    return authority;
                }

                @Override
                public Attributes getTransportAttrs() {
                    return Attributes.EMPTY;
                }
            }, channel.settings.executor(), new Applier(more));
        } catch (RuntimeException e) {
            end(Status.UNAUTHENTICATED.withDescription("Credentials should use fail() instead of throwing exceptions")
                    .withCause(e));
        }
    }

    /** Takes what credentials say, once: a second time would make the call again. */
    private final class Applier extends CallCredentials.MetadataApplier {
        private final AtomicBoolean told = new AtomicBoolean();
        private final Metadata more;

        Applier(Metadata more) {
            this.more = more;
        }

        @Override
        public void apply(Metadata credential) {
            once();
            try {
                more.merge(credential);
                mayBegin(more);
            } catch (RuntimeException | Error e) { // the channel waits for its end
                endBy("", e);
            }
        }

        @Override
        public void fail(Status status) {
            if (status.isOk()) {
                throw new IllegalArgumentException("Cannot fail with OK status");
            }
            once();
            end(ofCredentials(status));
        }

        /** gRPC (A54) forbids credentials the codes that say something of the method. */
        private static Status ofCredentials(Status status) {
            return switch (status.getCode()) {
                case INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE,
                        DATA_LOSS -> Status.INTERNAL.withDescription("Inappropriate status code from control plane: "
                                + status.getCode() + " " + status.getDescription()).withCause(status.getCause());
                default -> status;
            };
        }

        private void once() {
            if (!told.compareAndSet(false, true)) {
                throw new IllegalStateException("apply() or fail() already called");
            }
        }
    }

    private void mayBegin(Metadata more) {
        try {
            Encoding.RESERVED.forEach(more::discardAll);
            if (compressor != null) {
                more.put(Compression.ENCODING, compressor.getMessageEncoding());
            }
            if (tracers != Tracers.NONE) {
                tracers.created(channel.attributes(), more);
            }
            headers = channel.headers(options.getAuthority(), more);
            tracers.headersSent();
        } catch (IllegalArgumentException e) {
            end(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()));
            return;
        }
        boolean whole;
        synchronized (outbox) {
            mayBegin = true;
            whole = !unary || halfClosed;
        }
        if (whole) {
            begin();
        }
    }

    /** Makes the call: here if nothing has to be waited for, else on a thread of its own. */
    private void begin() {
        boolean waitsHere = unary && Thread.currentThread() == maker && options.getExecutor() != null
                && options.getExecutor().getClass().getName().equals(WAITING_STUB);
        if (make(waitsHere ? this::callAndWait : this::makeAtOnce)) {
            return;
        }
        Thread thread = LibraryThreads.unstartedVirtual("rdma-grpc-begin",
                LibraryThreads.once(this::beginWaiting, e -> endBy("", e)));
        thread.setContextClassLoader(Thread.currentThread().getContextClassLoader()); // credentials may need it
        beginner = thread; // before cut is read: pairs with end
        try {
            thread.start();
        } catch (Error e) {
            beginner = null;
            endBy("", e);
            return;
        }
        if (cut != null) {
            interruptBeginner();
        }
    }

    private void beginWaiting() {
        try {
            make(this::makeWaiting);
        } finally {
            synchronized (this) {
                beginner = null; // nothing interrupts this thread any more
            }
            Thread.interrupted();
            LibraryThreads.insist(newsTask);
        }
    }

    private synchronized void interruptBeginner() {
        if (beginner != null) {
            beginner.interrupt();
        }
    }

    /** Has the task look, but not on a thread that may be interrupted: that could run the listener. It looks later. */
    private void news() {
        if (Thread.currentThread() != beginner) {
            task.schedule();
        }
    }

    /** Something that makes the call; false if it would have to wait. */
    private interface Making {
        boolean make(RpcOptions how) throws RpcException;
    }

    private boolean make(Making making) {
        boolean again = false;
        try {
            again = method.isIdempotent() || options.isWaitForReady();
            long left = deadline == null ? Long.MAX_VALUE : deadline.timeRemaining(TimeUnit.NANOSECONDS);
            if (left <= 0) {
                end(tooLate());
                return true;
            }
            return making.make(new RpcOptions(deadline == null ? null : Duration.ofNanos(left), method.isIdempotent(),
                    headers, options.isWaitForReady() ? FOR_EVER : again ? null : Duration.ZERO));
        } catch (RpcException e) {
            boolean waited = again && deadline != null && e.status() == RpcStatus.UNAVAILABLE && !channel.isShutdown();
            end(waited ? tooLate(Code.TOO_LATE + ", or would before the next try: " + e.getMessage())
                    : whatWasFirst(Encoding.status(e)));
        } catch (RuntimeException | Error e) {
            endBy("", e);
        }
        return true;
    }

    /** Ends the call by something that was thrown, even if ending it throws again: the caller may wait for that. */
    private void endBy(String what, Throwable e) {
        try {
            end(Status.INTERNAL.withDescription(what + e).withCause(e));
        } catch (Error again) { // no memory or stack for a moment
            LibraryThreads.insist(endForWant);
        }
    }

    private void endForWant() {
        end(NO_ROOM);
        if (listener != null) {
            news(); // the end may have been cut short there
        }
    }

    /** A call whose time has run out while it had no server is too late. */
    private Status whatWasFirst(Status status) {
        if (deadline == null || !deadline.isExpired()) {
            return status;
        }
        String text = status.getDescription();
        return switch (status.getCode()) {
            case UNAVAILABLE -> tooLate(Code.TOO_LATE + ": " + text);
            case DEADLINE_EXCEEDED -> text == null || text.startsWith(Code.TOO_LATE)
                    || text.startsWith("no answer within") ? tooLate(text) : status; // others are the server's own
            default -> status;
        };
    }

    private boolean makeAtOnce(RpcOptions how) throws RpcException {
        String name = method.getFullMethodName();
        if (unary) {
            if (request().length > AT_ONCE_BYTES) {
                return false;
            }
            pending = channel.client.tryBegin(name, request(), how, this::onPendingEnd);
        } else {
            stream = channel.client.tryOpen(name, how, this::news);
        }
        return begun();
    }

    private boolean makeWaiting(RpcOptions how) throws RpcException {
        String name = method.getFullMethodName();
        if (unary) {
            pending = channel.client.begin(name, request(), how, this::onPendingEnd);
        } else {
            stream = channel.client.open(name, how, this::news);
        }
        return begun();
    }

    private boolean begun() {
        if (pending == null && stream == null) {
            return false;
        }
        if (cut != null) {
            cancelCall();
        }
        news();
        return true;
    }

    private void onPendingEnd() {
        pendingEnded = true;
        news();
    }

    /** For a blocking stub: its thread waits here, and reads the connection itself meanwhile. */
    private boolean callAndWait(RpcOptions how) throws RpcException {
        RpcPending made = channel.client.tryBegin(method.getFullMethodName(), request(), how, null);
        if (made == null) {
            return false;
        }
        pending = made;
        if (cut != null) {
            cancelCall();
        }
        if (Thread.currentThread().isVirtual()) {
            collect(made);
        } else {
            new Interruption().collect(made);
        }
        news();
        return true;
    }

    /** The wait of a platform thread, whose interrupt ends the call, as that of a thread in a channel closes this. */
    private final class Interruption extends AbstractInterruptibleChannel {
        void collect(RpcPending made) {
            try {
                begin();
                ChannelCall.this.collect(made);
            } finally {
                try {
                    end(true);
                } catch (AsynchronousCloseException e) {
                    // The call has its status.
                }
            }
        }

        /** The thread that interrupts, or is interrupted already. */
        @Override
        protected void implCloseChannel() {
            LibraryThreads.insist(() -> ChannelCall.this
                    .end(Status.CANCELLED.withDescription("the calling thread was interrupted")));
        }
    }

    private byte[] request() {
        synchronized (outbox) {
            return outbox.peek();
        }
    }

    private void collect(RpcPending ended) {
        try {
            answer = ended.await();
        } catch (RpcException e) {
            failure = e;
        }
        collected = true;
    }

    @Override
    public void request(int messages) {
        if (messages < 0) {
            throw new IllegalArgumentException("a negative number of messages: " + messages);
        }
        if (listener == null) {
            throw new IllegalStateException("Not started");
        }
        requested.addAndGet(messages);
        if (!unary || collected) {
            news();
        }
    }

    @Override
    public void cancel(String message, Throwable cause) {
        cancelled = true;
        Status status = Status.CANCELLED.withDescription(message == null ? "Call cancelled without message" : message);
        end(status.withCause(cause != null || message != null ? cause
                : new CancellationException("Cancelled without a message or cause")));
    }

    /** Ends the call with a status, unless it has ended. Any thread. */
    void end(Status status) {
        StackRoom.ensure(); // a status that is set has to be carried out
        synchronized (this) {
            if (cut != null || over) {
                return;
            }
            cut = status;
        }
        try {
            cancelCall();
        } finally {
            if (listener != null) {
                news();
            }
        }
    }

    private void cancelCall() {
        RpcPending made = pending;
        RpcClientCall open = stream;
        if (made != null) {
            made.cancel();
        }
        if (open != null) {
            open.cancel();
        }
        interruptBeginner();
    }

    private void checkOpen() {
        if (listener == null) {
            throw new IllegalStateException("Not started");
        }
        if (cancelled) {
            throw new IllegalStateException("call was cancelled");
        }
        synchronized (outbox) {
            if (halfClosed) {
                throw new IllegalStateException("call was half-closed");
            }
        }
    }

    @Override
    public void sendMessage(Q message) {
        checkOpen();
        if (cut != null) {
            return; // the listener hears of it
        }
        byte[] bytes;
        try {
            byte[] plain = Encoding.bytes(method.streamRequest(message));
            bytes = compressor == null ? plain : Compression.pack(plain, compressor, compresses);
            Integer most = options.getMaxOutboundMessageSize();
            if (most != null && plain.length > most) {
                throw Status.RESOURCE_EXHAUSTED.withDescription("message too large " + plain.length + " > " + most)
                        .asRuntimeException();
            }
            tracers.sent(bytes.length, plain.length);
        } catch (IOException | RuntimeException e) {
            end(Status.CANCELLED.withDescription("Failed to stream message").withCause(e));
            return;
        } catch (Error e) {
            end(Status.CANCELLED.withDescription("Client sendMessage() failed with Error").withCause(e));
            throw e;
        }
        synchronized (outbox) {
            outbox.add(bytes);
            waiting += bytes.length;
        }
        if (!unary) {
            flush();
            if (!hasRoom()) { // else left alone: the task may be about to tell
                toldReady = false;
            }
            if (!toldReady && hasRoom()) { // also if the task has looked while another message went
                news();
            }
        }
    }

    @Override
    public void halfClose() {
        checkOpen();
        boolean begins;
        boolean lacksRequest;
        synchronized (outbox) {
            halfClosed = true;
            begins = unary && mayBegin;
            lacksRequest = unary && outbox.size() != 1;
        }
        if (lacksRequest && cut == null) {
            end(Status.INTERNAL.withDescription("a unary call has one request"));
        } else if (begins && cut == null) {
            begin();
        } else if (!unary) {
            flush();
        }
    }

    /** Sends what needs no wait; a thread of its own sends the rest. Messages keep their order. */
    private void flush() {
        StackRoom.ensure(); // a message that was sent has to leave the outbox
        RpcClientCall open = stream;
        if (open == null || flushes.getAndIncrement() > 0) {
            return; // the thread that sends looks again
        }
        try {
            int seen;
            do {
                seen = flushes.get();
                if (!sendAtOnce(open)) {
                    LibraryThreads.start("rdma-grpc-send",
                            LibraryThreads.once(() -> sendAll(open), this::sendingFailed));
                    return;
                }
            } while (flushes.addAndGet(-seen) != 0);
        } catch (RpcException e) {
            flushes.set(0);
            sendFailed(open, e);
        } catch (RuntimeException | Error e) {
            sendingFailed(e);
        }
    }

    /** Without a lock: listeners may hear of it at once. False if what is next needs a wait. */
    private boolean sendAtOnce(RpcClientCall open) throws RpcException {
        for (byte[] next = next(open); next != null; next = next(open)) {
            if (next.length > AT_ONCE_BYTES || !open.trySend(next)) {
                return false;
            }
            sent();
        }
        boolean whole;
        synchronized (outbox) {
            whole = halfClosed && outbox.isEmpty();
        }
        if (whole) {
            open.halfClose();
        }
        return true;
    }

    private void sent() {
        synchronized (outbox) {
            waiting -= outbox.poll().length;
        }
    }

    /** A message may be sent and still queued: none is sent after it. */
    private void sendingFailed(Throwable e) {
        try {
            endBy("a message was not sent: ", e);
        } finally {
            flushes.set(0);
        }
    }

    /** A message was not sent: it is too long, or the call is over, and then the listener is told of that. */
    private void sendFailed(RpcClientCall open, RpcException e) {
        if (e.status() == RpcStatus.RESOURCE_EXHAUSTED && open.failure() == null) {
            end(Encoding.status(e));
        }
    }

    private void sendAll(RpcClientCall open) {
        try {
            for (byte[] next = next(open); next != null; next = next(open)) {
                open.send(next);
                sent();
                if (!toldReady && hasRoom()) { // before all are sent
                    news();
                }
            }
        } catch (RpcException e) {
            sendFailed(open, e);
        }
        flushes.set(0);
        news(); // it also flushes: there may be room since the look
    }

    /** The message to send next; null if there is none, or the server takes none now. */
    private byte[] next(RpcClientCall open) {
        synchronized (outbox) {
            return open.hasRoom() ? outbox.peek() : null;
        }
    }

    @Override
    public boolean isReady() {
        synchronized (outbox) {
            return !halfClosed && (unary ? listener != null && !over : hasRoom());
        }
    }

    /** Of a stream: whether it is ready but for a half-close. */
    boolean hasRoom() {
        synchronized (outbox) {
            return stream != null && !over && waiting < readyBytes;
        }
    }

    // The serial task.

    private void look() {
        if (closeTold || listener == null) {
            return;
        }
        Context previous = context.attach();
        try {
            while (failing == null && !over && (unary ? stepOfPending() : stepOfStream())) {
                continue;
            }
        } catch (Throwable e) {
            failing = e;
        }
        try {
            if (failing != null && !over) { // the listener failed, or what came is damaged or too long
                end(failing instanceof StatusException damage ? damage.getStatus()
                        : Status.CANCELLED.withDescription(telling).withCause(failing));
                close(cut, new Metadata());
            } else if (over && !closeTold) { // an Error has cut that short
                tellClose();
            }
        } finally {
            context.detach(previous);
        }
    }

    private boolean stepOfPending() throws IOException, StatusException {
        RpcPending made = pending;
        if (made != null && pendingEnded && !collected) {
            collect(made);
        }
        if (cut != null) {
            close(cut, new Metadata());
            return false;
        }
        if (!collected) {
            return false;
        }
        if (failure != null) {
            RpcMetadata sent = made.headers();
            if (!headersTold && !sent.entries().isEmpty()) {
                tellHeaders(sent);
            }
            closeBy(whatWasFirst(Encoding.status(failure)), failure.trailers());
            return false;
        }
        if (!answered) {
            if (requested.get() == 0) {
                return false;
            }
            answered = true;
            tellHeaders(made.headers());
            deliver(answer);
            return true;
        }
        closeBy(Status.OK, made.trailers());
        return false;
    }

    private boolean stepOfStream() throws IOException, StatusException {
        RpcClientCall open = stream;
        RpcException failed = open == null ? null : open.failure();
        if (cut != null) {
            close(cut, new Metadata());
            return false;
        }
        if (open == null) {
            return false;
        }
        flush();
        if (tellsReady && !toldReady && isNowReady()) {
            toldBegun = true;
            telling = "Failed to call onReady.";
            listener.onReady();
            return true;
        }
        if (failed != null) {
            switch (failed.status()) {
                case CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE -> {
                    closeBy(whatWasFirst(Encoding.status(failed)), failed.trailers());
                    return false;
                }
                default -> {
                    // The listener first gets what the server has sent before.
                }
            }
        }
        if (!headersTold && open.hasHeaders()) {
            tellHeaders(open.headers());
            return true;
        }
        byte[] message = requested.get() > 0 ? open.poll() : null;
        if (message != null) {
            if (!headersTold) {
                tellHeaders(RpcMetadata.EMPTY);
            }
            deliver(message);
            return true;
        }
        if (open.isEnded()) {
            RpcException last = open.failure(); // may have come since
            closeBy(last == null ? Status.OK : whatWasFirst(Encoding.status(last)),
                    last == null ? open.trailers() : last.trailers());
        }
        return false;
    }

    /** Whether the listener is to be told so: at the beginning in any case. */
    private boolean isNowReady() {
        toldReady = true; // before the look: pairs with sendMessage
        boolean ready = hasRoom();
        if (!ready) {
            toldReady = false;
        }
        return ready || !toldBegun;
    }

    private void tellHeaders(RpcMetadata arrived) throws StatusException {
        headersTold = true;
        Metadata told = Encoding.metadata(arrived, channel.settings.maxMetadata());
        String encoding = told.get(Compression.ENCODING);
        if (!Compression.isPlain(encoding)) {
            decompressor = channel.settings.decompressors().lookupDecompressor(encoding);
            if (decompressor == null) {
                throw Status.INTERNAL.withDescription("Can't find decompressor for " + encoding).asException();
            }
        }
        tracers.headersCame(told);
        telling = "Failed to read headers";
        listener.onHeaders(told);
    }

    private void deliver(byte[] arrived) throws StatusException {
        requested.decrementAndGet();
        Integer limit = options.getMaxInboundMessageSize();
        int most = limit == null ? Integer.MAX_VALUE : limit;
        if (arrived.length > most) {
            throw Status.RESOURCE_EXHAUSTED.withDescription("gRPC message exceeds maximum size " + most + ": "
                    + arrived.length).asException();
        }
        byte[] message = decompressor == null ? arrived
                : Compression.unpack(arrived, decompressor, Math.min(most, channel.settings.maxMessage()));
        tracers.received(arrived.length, message.length);
        telling = "Failed to read message.";
        listener.onMessage(method.parseResponse(Encoding.message(message)));
    }

    /** The call has ended at its server. */
    private void closeBy(Status status, RpcMetadata arrived) throws StatusException {
        Metadata trailers = Encoding.metadata(arrived, channel.settings.maxMetadata());
        tracers.trailersCame(trailers);
        close(status, trailers);
    }

    private void close(Status found, Metadata trailers) {
        synchronized (this) {
            endStatus = cut == null ? found : cut; // the found status may be only a consequence of the cut
            endTrailers = cut == null ? trailers : new Metadata();
            over = true;
        }
        tellClose();
    }

    private void tellClose() {
        context.removeListener(cancellation);
        channel.ends(this, endStatus.isOk());
        closeTold = true; // not before: after an Error the lines above run again, the application hears once
        try {
            try {
                tracers.closed(endStatus);
            } finally {
                listener.onClose(endStatus, endTrailers);
            }
        } catch (RuntimeException | Error e) {
            LibraryThreads.report(e);
        }
    }

    /** Of a stream: whether nothing of it was sent. */
    boolean isUnsent() {
        return stream == null;
    }

    /** Of a stream: whether it has ended before its server has begun it. */
    boolean isRefused() {
        RpcClientCall open = stream;
        return open != null && open.isRefused();
    }

    @Override
    public void setMessageCompression(boolean enabled) {
        compresses = enabled;
    }

    /** The addresses of its connection; empty before there is one. */
    @Override
    public Attributes getAttributes() {
        RpcPending made = pending;
        RpcClientCall open = stream;
        if (made != null) {
            return RdmaChannel.attributes(made.localAddress(), made.remoteAddress());
        }
        return open == null ? Attributes.EMPTY : RdmaChannel.attributes(open.localAddress(), open.remoteAddress());
    }

    @Override
    public String toString() {
        return "ChannelCall[" + method.getFullMethodName() + "]";
    }
}
