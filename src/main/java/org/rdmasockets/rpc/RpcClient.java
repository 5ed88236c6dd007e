package org.rdmasockets.rpc;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.rdmasockets.RdmaDatagramSocket;
import org.rdmasockets.internal.lock.CallerLock;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.rpc.call.CallStream;
import org.rdmasockets.internal.rpc.call.Carrier;
import org.rdmasockets.internal.rpc.call.ClientConnection;
import org.rdmasockets.internal.rpc.call.Code;
import org.rdmasockets.internal.rpc.call.EndpointCarrier;
import org.rdmasockets.internal.rpc.call.Frame;
import org.rdmasockets.internal.rpc.call.MessageTooLong;
import org.rdmasockets.internal.rpc.call.QuickWatcher;
import org.rdmasockets.internal.rpc.session.SessionHub;

/**
 * Calls methods of a server, from any number of threads at once, over one connection. A connection that was lost is
 * made anew when the next call needs it.
 *
 * @since 0.1
 */
public final class RpcClient implements AutoCloseable {
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);
    /** How long one attempt to connect may take, with the server's greeting. */
    private static final long ATTEMPT_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** Bytes of answers after which a client with nothing under way says that it has them. */
    private static final long UNSAID_BYTES = 16 << 10;

    private final Connector connector;
    private final int maxMessage;
    private final long retryNanos;
    private final byte[] identity = new byte[ClientConnection.IDENTITY_BYTES];
    private final CallerLock connecting = new CallerLock();
    /** Why the last attempt was refused, which all calls share that had asked before it began. Under connecting. */
    private ConnectException refusal;
    private long refusedNanos;
    /** The connection for new calls. Written under connecting. */
    private volatile ClientConnection current;
    /** The attempt that waits for a server's greeting, null while none does. Written under connecting. */
    private volatile Backoff greeting;
    private volatile boolean closed;
    /** The state that was last told; guarded by stateLock. */
    private Connectivity state = Connectivity.IDLE;
    private final Object stateLock = new Object();
    /** Ends when the watcher of the application has been told of the last state; guarded by stateLock. */
    private CompletableFuture<Void> told = CompletableFuture.completedFuture(null);
    /** Told of each state; null for none. */
    private final Consumer<Connectivity> watcher;
    /** The last number of a call that runs at most once; guarded by numbers. */
    private long lastNumber;
    /** The numbers of calls whose answers may be asked for again, in order; guarded by itself. */
    private final Set<Number> numbers = new LinkedHashSet<>();
    /** Bytes of answers that the server does not know to have arrived, about; guarded by numbers. */
    private long unsaid;

    /**
     * The state of a client's connection.
     *
     * @since 0.1
     */
    public enum Connectivity {
        /** There is no connection: the next call makes one. */
        IDLE,
        /** It is being made. */
        CONNECTING,
        /** Calls begin at once. */
        READY,
        /** The last attempt to connect has failed. */
        FAILED
    }

    /** Makes connections. */
    interface Connector {
        /** Connects within a time, which is more than 0. */
        Carrier connect(long limitNanos) throws IOException;
    }

    /** The number of a call. Is told when the call ends. */
    static final class Number implements CallStream.Ending {
        private final RpcClient client;
        final long value;
        /** After this time a call that was lost is not made again. */
        private final long untilNanos;

        private Number(RpcClient client, long value, long untilNanos) {
            this.client = client;
            this.value = value;
            this.untilNanos = untilNanos;
        }

        @Override
        public void ended(CallStream call) {
            if (!call.isLost()) {
                client.over(this, call.answerBytes());
            }
        }
    }

    private RpcClient(Connector connector, Builder settings) {
        this.connector = connector;
        maxMessage = settings.maxMessage;
        retryNanos = NanoTimes.nanos(settings.retryTime);
        watcher = settings.watcher == null || settings.watcher instanceof QuickWatcher<?> ? settings.watcher
                : inTurn(settings.watcher);
        new SecureRandom().nextBytes(identity);
    }

    /**
     * Begins a client.
     *
     * @return its builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Calls a method and waits for its answer, without a deadline; the method runs at most once.
     *
     * @param method its name
     * @param request not kept after the call has ended
     * @return the answer
     * @throws RpcException if it did not end well
     */
    public byte[] call(String method, byte[] request) throws RpcException {
        return call(method, request, RpcOptions.DEFAULT);
    }

    /**
     * Calls a method and waits for its answer.
     *
     * @param method its name
     * @param request not kept after the call has ended
     * @param options deadline, idempotence, metadata
     * @return the answer
     * @throws RpcException if it did not end well; {@link RpcStatus#CANCELLED} with the interrupt status set if this
     *         virtual thread was interrupted
     */
    public byte[] call(String method, byte[] request, RpcOptions options) throws RpcException {
        return begin(method, request, options).await();
    }

    /**
     * Begins to call a method.
     *
     * @param method its name
     * @param request not kept after the call has ended, nor to be changed before
     * @param options deadline, idempotence, metadata
     * @return to be awaited; a call that was lost is made again while a thread awaits it
     * @throws RpcException if it cannot begin
     */
    public RpcPending begin(String method, byte[] request, RpcOptions options) throws RpcException {
        return begin(method, request, options, null);
    }

    /**
     * Begins to call a method, and tells when the call has ended. A call that was lost is made again meanwhile. Waits
     * for a connection, a place at the server and room, as all calls do: see {@link #tryBegin}.
     *
     * @param method its name
     * @param request not kept after the call has ended, nor to be changed before
     * @param options deadline, idempotence, metadata
     * @param told run once, when {@link RpcPending#await()}, which is called then, does not wait; perhaps before this
     *        returns. On a thread that others need: it neither blocks nor throws
     * @return to be awaited
     * @throws RpcException if it cannot begin
     */
    public RpcPending begin(String method, byte[] request, RpcOptions options, Runnable told) throws RpcException {
        StackRoom.ensure();
        checkName(method);
        RpcPending pending = new RpcPending(this, method, request, options, told);
        pending.start();
        return pending;
    }

    /**
     * Begins to call a method as {@link #begin(String, byte[], RpcOptions, Runnable)}, if that needs no wait.
     *
     * @param method its name
     * @param request not kept after the call has ended, nor to be changed before
     * @param options deadline, idempotence, metadata
     * @param told run once, if the call has begun, as there; null if a thread will await it: then this waits for room
     *        in the connection
     * @return the call; null if there is no connection, the server has no place for one more call, or takes nothing
     *         now: then nothing has happened
     * @throws RpcException if it cannot begin
     */
    public RpcPending tryBegin(String method, byte[] request, RpcOptions options, Runnable told) throws RpcException {
        StackRoom.ensure();
        checkName(method);
        RpcPending pending = new RpcPending(this, method, request, options, told);
        return pending.tryStart() ? pending : null;
    }

    /**
     * Begins a call with any number of requests and answers. It is not made again when it is lost.
     *
     * @param method its name
     * @param options deadline, metadata; idempotence makes no difference
     * @return the call, to be closed
     * @throws RpcException if it cannot begin
     */
    public RpcClientCall open(String method, RpcOptions options) throws RpcException {
        return open(method, options, null);
    }

    /**
     * Begins a call with any number of requests and answers, and tells of its news, for callers that do not wait.
     *
     * @param method its name
     * @param options deadline, metadata; idempotence makes no difference
     * @param news run whenever something has come, perhaps before this returns. On a thread that others need: it
     *        neither blocks nor throws
     * @return the call, to be closed
     * @throws RpcException if it cannot begin
     */
    public RpcClientCall open(String method, RpcOptions options, Runnable news) throws RpcException {
        StackRoom.ensure();
        checkName(method);
        ClientConnection.Start start = streamed(method, options);
        Backoff backoff = new Backoff(start.deadlineNanos(), options.retryTime());
        while (true) {
            CallStream stream = begin(connection(backoff), start, news);
            if (!stream.isNotBegun() || stream.code() < 0) {
                return new RpcClientCall(stream);
            }
            if (!backoff.pauseAfter(stream, false)) {
                throw failure(stream);
            }
        }
    }

    /**
     * Begins a call with any number of requests and answers, as {@link #open(String, RpcOptions, Runnable)}, if that
     * needs no wait.
     *
     * @param method its name
     * @param options deadline, metadata; idempotence makes no difference
     * @param news run whenever something has come, perhaps before this returns, as there
     * @return the call, to be closed; null if there is no connection, the server has no place for one more call, or
     *         takes nothing now: then nothing has happened
     * @throws RpcException if it cannot begin
     */
    public RpcClientCall tryOpen(String method, RpcOptions options, Runnable news) throws RpcException {
        StackRoom.ensure();
        checkName(method);
        ClientConnection connection = current;
        CallStream stream = connection == null || !connection.isOpen() ? null
                : tryBegin(connection, streamed(method, options), news);
        boolean begun = stream != null && !(stream.code() >= 0 && stream.isNotBegun()); // it ended meanwhile
        return begun ? new RpcClientCall(stream) : null;
    }

    private static ClientConnection.Start streamed(String method, RpcOptions options) {
        return new ClientConnection.Start(method, options.metadata().encoded(), null, false, options.deadlineNanos(),
                0, 0, false);
    }

    private static void checkName(String method) {
        if (method.isEmpty() || method.getBytes(StandardCharsets.UTF_8).length > Frame.MAX_TEXT) {
            throw new IllegalArgumentException("the name of a method has 1 to " + Frame.MAX_TEXT + " bytes");
        }
    }

    /** Begins a call on a connection. */
    static CallStream begin(ClientConnection connection, ClientConnection.Start start, Runnable news)
            throws RpcException {
        try {
            return connection.begin(start, news);
        } catch (InterruptedIOException e) {
            throw interrupted();
        } catch (IOException e) {
            throw unavailable(e.getMessage(), e);
        } catch (MessageTooLong e) {
            throw new RpcException(RpcStatus.RESOURCE_EXHAUSTED, e.getMessage());
        }
    }

    /** Likewise without a wait; null if it would wait. */
    static CallStream tryBegin(ClientConnection connection, ClientConnection.Start start, Runnable news)
            throws RpcException {
        try {
            return connection.tryBegin(start, news);
        } catch (MessageTooLong e) {
            throw new RpcException(RpcStatus.RESOURCE_EXHAUSTED, e.getMessage());
        }
    }

    /** The connection of the moment, perhaps one that is over; null before the first. */
    ClientConnection current() {
        return current;
    }

    /** The exception for a caller whose thread was interrupted; the interrupt status stays set. */
    static RpcException interrupted() {
        return new RpcException(RpcStatus.CANCELLED, "the calling thread was interrupted");
    }

    private static RpcException unavailable(String why, Throwable cause) {
        return new RpcException(RpcStatus.UNAVAILABLE, why, RpcMetadata.EMPTY, cause);
    }

    /** The exception for the caller of a call that did not end well. */
    static RpcException failure(CallStream stream) {
        try {
            return new RpcException(RpcStatus.of(stream.code()), stream.text(),
                    RpcServerCall.decode(stream.trailers()), null);
        } catch (RpcException e) {
            return e;
        }
    }

    /** A number for a call that may run once only, and may be made again until a time. */
    Number number(long untilNanos) {
        synchronized (numbers) {
            Number number = new Number(this, ++lastNumber, untilNanos);
            numbers.add(number);
            return number;
        }
    }

    /** This client will not ask for the call's answer, of so many bytes, again. Idempotent. */
    void over(Number number, long answerBytes) {
        long answered = 0;
        synchronized (numbers) {
            numbers.remove(number);
            unsaid += answerBytes;
            if (numbers.isEmpty() && unsaid >= UNSAID_BYTES) {
                unsaid = 0; // nothing is under way, and perhaps nothing follows
                answered = lastNumber + 1;
            }
        }
        ClientConnection connection = current;
        if (answered > 0 && connection != null) {
            connection.answered(answered);
        }
    }

    /** All numbers below this are over; the server is told so now. */
    long answered() {
        synchronized (numbers) {
            unsaid = 0;
            return numbers.isEmpty() ? lastNumber + 1 : numbers.iterator().next().value;
        }
    }

    /** Calls that wait for another one to connect; for tests. */
    int waitingToConnect() {
        return connecting.getQueueLength();
    }

    /** Numbers that are not over; for tests. */
    int numbered() {
        synchronized (numbers) {
            return numbers.size();
        }
    }

    /** Forgets the numbers of calls whose time to be made again is over: if they were lost, they are not made again. */
    private void forgetLate() {
        long now = System.nanoTime();
        synchronized (numbers) {
            numbers.removeIf(one -> one.untilNanos != Long.MAX_VALUE && one.untilNanos - now < 0);
        }
    }

    /** The connection for a new call, made if there is none. Tries again until the time is over. */
    ClientConnection connection(Backoff backoff) throws RpcException {
        while (true) {
            ClientConnection connection = current;
            if (connection != null && connection.isOpen()) {
                return connection;
            }
            try {
                return connect(backoff);
            } catch (InterruptedIOException e) {
                if (Thread.currentThread().isInterrupted()) {
                    throw interrupted();
                }
                retryOrThrow(backoff, e);
            } catch (IOException e) {
                retryOrThrow(backoff, e);
            }
        }
    }

    private void retryOrThrow(Backoff backoff, IOException e) throws RpcException {
        if (closed || !backoff.pauseAfterConnect()) {
            throw unavailable("no connection to the server: " + e.getMessage(), e);
        }
    }

    /**
     * Connects, once, unless there is a connection.
     *
     * @param limit longest wait
     * @throws IOException as {@code RdmaEndpointBuilder.connect}, or if no server of calls answers
     */
    public void connect(Duration limit) throws IOException {
        StackRoom.ensure();
        ClientConnection connection = current;
        if (connection == null || !connection.isOpen()) {
            connect(new Backoff(NanoTimes.after(limit), null));
        }
    }

    /**
     * Tells whether a call would begin without waiting for a connection. While no call reads, the client does: so it
     * hears of the server's end also between calls.
     *
     * @return false before the first, and when the server leaves or is gone
     */
    public boolean isConnected() {
        ClientConnection connection = current;
        return connection != null && connection.isOpen();
    }

    /** Has a watcher told of one state after the other, on other threads: callers hold locks here. */
    private Consumer<Connectivity> inTurn(Consumer<Connectivity> watching) {
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        return now -> told = told.handleAsync((before, failure) -> {
            try {
                watching.accept(now);
            } catch (RuntimeException | Error e) {
                LibraryThreads.report(e); // and the next state is told
            }
            return null;
        }, task -> LibraryThreads.insist(() -> LibraryThreads.start("rdma-rpc-state", context, task)));
    }

    /** Tells the watcher of a state, unless it was the last one. */
    private void tell(Connectivity now) {
        if (watcher == null) {
            return;
        }
        synchronized (stateLock) { // else the watcher may hear of two in the wrong order
            if (state != now) {
                state = now;
                watcher.accept(now);
            }
        }
    }

    /** New calls need another connection than this one. */
    private void ended(ClientConnection connection) {
        if (current == connection) {
            synchronized (stateLock) {
                if (state == Connectivity.READY && !connection.isOpen()) { // else another one is being made already
                    tell(Connectivity.IDLE);
                }
            }
        }
    }

    private ClientConnection connect(Backoff backoff) throws IOException {
        long asked = System.nanoTime();
        long left = backoff.left();
        try {
            if (left <= 0 || !connecting.tryLock(left)) {
                throw new IOException("it took too long to connect");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        }
        try {
            ClientConnection connection = current;
            if (connection == null || !connection.isOpen()) {
                ensureWanted(backoff);
                if (refusal != null && refusedNanos - asked > 0) {
                    throw refusal;
                }
                forgetLate();
                if (connection != null && connection.isLost()) {
                    connection.close(); // again: the thread that lost it may have had no stack left to end it
                }
                connection = make(backoff);
                current = connection;
                tell(Connectivity.READY);
                connection.watch(this::ended);
                ended(connection); // if it ended before it was current
                if (closed) {
                    connection.close();
                }
            }
            return connection;
        } finally {
            connecting.unlock();
        }
    }

    private ClientConnection make(Backoff backoff) throws IOException {
        tell(Connectivity.CONNECTING);
        boolean made = false;
        long began = System.nanoTime();
        long end = began + backoff.attemptNanos();
        refusal = null;
        try {
            ClientConnection connection = greet(backoff, end);
            made = true;
            return connection;
        } catch (ConnectException e) {
            if (end - System.nanoTime() > 0) { // else another call might wait longer
                refusal = e;
                refusedNanos = began;
            }
            throw e;
        } finally {
            if (!made) {
                tell(Connectivity.FAILED);
            }
        }
    }

    private void ensureWanted(Backoff backoff) throws IOException {
        if (closed || backoff.givenUp) {
            throw new IOException(closed ? "the client is closed" : "the call was given up");
        }
    }

    /** Connects, and greets the server; connecting held. */
    private ClientConnection greet(Backoff backoff, long end) throws IOException {
        long sentUpTo;
        synchronized (numbers) {
            sentUpTo = lastNumber;
        }
        Carrier carrier = connector.connect(Math.max(1, end - System.nanoTime()));
        backoff.greeted = carrier;
        greeting = backoff;
        try {
            if (closed || backoff.givenUp) { // after the carrier can be seen: pairs with close and giveUp
                carrier.close();
            }
            return new ClientConnection(carrier, maxMessage, identity, sentUpTo,
                    Math.max(1, end - System.nanoTime()));
        } catch (Error e) { // perhaps in a field's initializer
            LibraryThreads.close(carrier);
            throw e;
        } finally {
            greeting = null;
            backoff.greeted = null;
        }
    }

    /** How often, and how long, something is tried. */
    final class Backoff {
        /** When the call is over, by {@code System.nanoTime}; {@code Long.MAX_VALUE} for never. */
        private final long deadlineNanos;
        /** Until when a call is made again that the server has refused, or has answered as unavailable. */
        private final long refusedUntil;
        /** Until when connecting is tried again. */
        private long connectUntil;
        /** Whether the call has a time of its own for that. */
        private final boolean ownTime;
        /** A call with its own time was made again without a pause, which each may be once. */
        private boolean madeAgain;
        private long pauseNanos = FIRST_PAUSE_NANOS;
        private volatile boolean givenUp;
        /** The carrier whose server has not greeted yet, null for none. */
        private volatile Carrier greeted;

        /** For a call with a deadline or none, and its own time to connect again; null for the client's time. */
        Backoff(long deadlineNanos, Duration retryTime) {
            refusedUntil = deadlineNanos == Long.MAX_VALUE ? NanoTimes.after(retryNanos) : deadlineNanos;
            ownTime = retryTime != null;
            this.deadlineNanos = ownTime ? deadlineNanos : refusedUntil;
            connectUntil = ownTime ? Math.min(deadlineNanos, NanoTimes.after(retryTime)) : refusedUntil;
        }

        /** The last time at which the call may be made again: one with its own time asks whenever it is lost. */
        long untilNanos() {
            return deadlineNanos;
        }

        /** The time until the deadline, in nanoseconds. */
        long left() {
            return deadlineNanos == Long.MAX_VALUE ? NanoTimes.nanos(FOR_EVER) : deadlineNanos - System.nanoTime();
        }

        /** How long one attempt to connect may take: of a call that has little time no longer than the client's own. */
        long attemptNanos() {
            boolean waits = connectUntil == Long.MAX_VALUE || connectUntil - System.nanoTime() > retryNanos;
            return Math.min(left(), ownTime && !waits ? Math.min(ATTEMPT_NANOS, retryNanos) : ATTEMPT_NANOS);
        }

        /** Ends it, after the pause that goes on, and the wait for a server's greeting now. */
        void giveUp() {
            givenUp = true;
            endGreeting();
        }

        private void endGreeting() {
            Carrier carrier = greeted;
            if (carrier != null) {
                carrier.close();
            }
        }

        /** Pauses before the next attempt to connect; false if there is none. */
        boolean pauseAfterConnect() throws RpcException {
            return pause(connectUntil);
        }

        /** Pauses before a call is made again that has failed so; false if it is not made again. */
        boolean pauseAfter(CallStream failed, boolean idempotent) throws RpcException {
            if (failed.code() == Code.RESOURCE_EXHAUSTED || !failed.isLost() && !failed.isNotBegun()) {
                return pause(refusedUntil);
            }
            if (ownTime && failed.isLost() && !idempotent) {
                connectUntil = System.nanoTime(); // the repeated call wants its answer: no other server has that
            }
            if (ownTime && !madeAgain) {
                madeAgain = true;
                return !closed && !givenUp && left() > 0;
            }
            return pause(connectUntil);
        }

        /** Pauses, each time longer; false if there is no time for that, it was given up, or the client is closed. */
        private boolean pause(long untilNanos) throws RpcException {
            long nanos = pauseNanos / 2 + ThreadLocalRandom.current().nextLong(pauseNanos);
            pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
            if (closed || givenUp || untilNanos != Long.MAX_VALUE && nanos >= untilNanos - System.nanoTime()) {
                return false;
            }
            try {
                TimeUnit.NANOSECONDS.sleep(nanos);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw interrupted();
            }
            return !givenUp;
        }
    }

    /**
     * Names the device or protocol that the calls go over now.
     *
     * @return its name; "none" before the first connection
     */
    public String transport() {
        ClientConnection connection = current;
        return connection == null ? "none" : connection.carrier().transport();
    }

    /** {@return the address and port of this end of the present connection; empty before the first} */
    public Optional<InetSocketAddress> localAddress() {
        return Optional.ofNullable(current).map(connection -> connection.carrier().localAddress());
    }

    /** {@return the address and port of the server of the present connection; empty before the first} */
    public Optional<InetSocketAddress> remoteAddress() {
        return Optional.ofNullable(current).map(connection -> connection.carrier().remoteAddress());
    }

    /**
     * Lets the present connection end when its calls have; the next call makes another one. Does nothing without a
     * connection, and does not wait.
     */
    public void disconnect() {
        StackRoom.ensure();
        ClientConnection connection = current;
        if (connection != null) {
            connection.leave();
        }
    }

    /** Ends the connection and all calls. Idempotent. */
    @Override
    public void close() {
        closed = true;
        StackRoom.ensure();
        Backoff waiting = greeting;
        if (waiting != null) {
            waiting.endGreeting();
        }
        ClientConnection connection = current;
        if (connection != null) {
            connection.close();
        }
    }

    @Override
    public String toString() {
        ClientConnection connection = current;
        return "RpcClient[" + (connection == null ? "" : connection.carrier().remoteAddress() + " over ") + transport()
                + "]";
    }

    /**
     * The settings of a client. Not for use by two threads at a time.
     *
     * @since 0.1
     */
    public static final class Builder {
        private static final int MAX_MESSAGE = 4 << 20;

        private RpcDatagrams datagrams;
        private int maxMessage = MAX_MESSAGE;
        private Duration retryTime = Duration.ofSeconds(30);
        private Consumer<Connectivity> watcher;

        private Builder() {}

        /**
         * Calls in a session over datagrams, as the server takes them: over shared memory to a server on this host, if
         * it has an {@code RdmaDatagramSocket}, over a datagram queue pair where RDMA devices lead from one to the
         * other, over UDP elsewhere. Without this, over a connection between endpoints.
         *
         * @return this
         */
        public Builder datagrams() {
            return datagrams(RdmaDatagramSocket::new);
        }

        /**
         * The same over sockets of another kind, such as {@code DatagramSocket::new}, which is UDP and nothing else.
         *
         * @param sockets makes one for each session, one after the other
         * @return this
         */
        public Builder datagrams(RpcDatagrams sockets) {
            datagrams = Objects.requireNonNull(sockets);
            return this;
        }

        /**
         * The longest answer. 4 MiB without this.
         *
         * @param bytes at least 1
         * @return this
         */
        public Builder maxMessage(int bytes) {
            if (bytes < 1) {
                throw new IllegalArgumentException("the longest message has at least 1 byte, not " + bytes);
            }
            maxMessage = bytes;
            return this;
        }

        /**
         * How long connecting, and a call without a deadline, is tried again. 30 seconds without this.
         *
         * @param time longer than nothing
         * @return this
         */
        public Builder retryTime(Duration time) {
            if (time.isNegative() || time.isZero()) {
                throw new IllegalArgumentException("the time to try again has to be longer than nothing, not " + time);
            }
            retryTime = time;
            return this;
        }

        /**
         * Tells of each change of the connection's state, one at a time, in their order, also between calls. Without
         * this, none is told.
         *
         * @param told gets the new state, perhaps when it is not the present one any more, on a thread of its own with
         *        the context class loader of the thread that made the client, and none of its inheritable thread-locals
         * @return this
         */
        public Builder onState(Consumer<Connectivity> told) {
            watcher = Objects.requireNonNull(told);
            return this;
        }

        /**
         * Connects, once. Of a name, all addresses are tried in turn; they are looked up again whenever the client
         * connects.
         *
         * @param host name or address
         * @param port of the server
         * @return the client
         * @throws IOException as {@link #connect(InetSocketAddress)}
         */
        public RpcClient connect(String host, int port) throws IOException {
            return connect(InetSocketAddress.createUnresolved(host, port));
        }

        /**
         * Connects, once.
         *
         * @param server where it listens
         * @return the client
         * @throws IOException as {@code RdmaEndpointBuilder.connect}, or if no server of calls answers
         */
        public RpcClient connect(InetSocketAddress server) throws IOException {
            return connect(connector(server));
        }

        /** Connects by other means. */
        RpcClient connect(Connector connector) throws IOException {
            RpcClient client = new RpcClient(connector, this);
            boolean connected = false;
            try {
                client.connect(client.new Backoff(Long.MAX_VALUE, null));
                connected = true;
                return client;
            } finally {
                if (!connected) { // it may be connected all the same, and no thread has it
                    LibraryThreads.close(client);
                }
            }
        }

        /**
         * Makes a client that connects when it is first needed.
         *
         * @param server where it will listen; of a name that is not resolved yet, all addresses are looked up and
         *        tried in turn whenever it connects
         * @return the client
         */
        public RpcClient unconnected(InetSocketAddress server) {
            return new RpcClient(connector(server), this);
        }

        private Connector connector(InetSocketAddress server) {
            int most = maxMessage;
            RpcDatagrams sockets = datagrams;
            Route route = sockets == null ? (to, limitNanos) -> EndpointCarrier.connect(to, most, limitNanos)
                    : (to, limitNanos) -> SessionHub.connect(sockets.bind(new InetSocketAddress(0)), to, most,
                            limitNanos);
            return server.isUnresolved() ? limitNanos -> connect(
                    InetAddress.getAllByName(server.getHostString()), server.getPort(), route, limitNanos)
                    : limitNanos -> route.connect(server, limitNanos);
        }

        /** Makes a connection to an address. */
        interface Route {
            /** Connects within a time, longer than nothing. */
            Carrier connect(InetSocketAddress to, long limitNanos) throws IOException;
        }

        /** Connects to the first address of a name that answers; each has its part of the time that is left. */
        static Carrier connect(InetAddress[] hosts, int port, Route route, long limitNanos) throws IOException {
            long end = System.nanoTime() + limitNanos;
            IOException first = null;
            for (int i = 0; i < hosts.length; i++) {
                long left = (end - System.nanoTime()) / (hosts.length - i);
                try {
                    return route.connect(new InetSocketAddress(hosts[i], port), Math.max(1, left));
                } catch (IOException e) {
                    if (first == null) {
                        first = e;
                    } else {
                        first.addSuppressed(e);
                    }
                    if (Thread.currentThread().isInterrupted()) {
                        throw first;
                    }
                }
            }
            throw first;
        }
    }
}
