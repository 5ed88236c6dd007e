package org.rdmasockets.rpc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.rpc.call.CallStream;
import org.rdmasockets.internal.rpc.call.ClientConnection;
import org.rdmasockets.internal.rpc.call.Code;

/**
 * A call that was begun. One thread at a time awaits it; any may cancel it. If it is lost, it is made again only while
 * a thread awaits it, or if it has a task to run at its end.
 *
 * @since 0.1
 */
public final class RpcPending {
    private static final String CANCELLED = "the call was cancelled";

    private final RpcClient client;
    private final String method;
    private final byte[] request;
    private final RpcOptions options;
    private final byte[] metadata;
    private final long deadlineNanos;
    /** Null for an idempotent call, and when the call is over: its client does not ask for its answer again. */
    private RpcClient.Number number;
    private ClientConnection connection;
    private volatile CallStream stream;
    private volatile boolean cancelled;
    private volatile RpcClient.Backoff backoff;
    /** Runs when the call has ended for good; null if a thread awaits it. */
    private final Runnable told;
    /** The stream whose end was seen, and whether that was told; guarded by this. */
    private CallStream seen;
    private boolean isTold;
    /** Why it was not made again; null if it was not tried, and while it goes on. */
    private volatile RpcException failure;

    RpcPending(RpcClient client, String method, byte[] request, RpcOptions options, Runnable told) {
        this.told = told;
        this.client = client;
        this.method = method;
        this.request = request;
        this.options = options;
        metadata = options.metadata().encoded();
        deadlineNanos = options.deadlineNanos();
    }

    void start() throws RpcException {
        try {
            begin(false);
        } catch (Throwable e) {
            over();
            throw e;
        }
    }

    /** Begins, if that needs no wait; else false. */
    boolean tryStart() throws RpcException {
        ClientConnection to = client.current();
        boolean begun = false;
        try {
            begun = to != null && to.isOpen() && beginOn(to, false, false);
            return begun;
        } finally {
            if (!begun) {
                over();
            }
        }
    }

    private RpcClient.Backoff backoff() {
        if (backoff == null) {
            backoff = client.new Backoff(deadlineNanos, options.retryTime());
            if (cancelled) {
                backoff.giveUp();
            }
        }
        return backoff;
    }

    /** Makes the call, or makes it again. A repeated one goes to the same server, or nowhere: false then. */
    private boolean begin(boolean repeat) throws RpcException {
        ClientConnection to = client.connection(backoff());
        if (repeat && !options.idempotent()
                && (number == null || to.serverInstance() != connection.serverInstance())) {
            return false; // without its number it could run twice
        }
        return beginOn(to, repeat, true);
    }

    /** Begins on a connection; false if it would have to wait, and may not. */
    private boolean beginOn(ClientConnection to, boolean repeat, boolean waits) throws RpcException {
        connection = to;
        if (!repeat && !options.idempotent()) {
            over();
            number = client.number(backoff().untilNanos());
        }
        RpcClient.Number own = number;
        boolean numbered = own != null;
        ClientConnection.Start start = new ClientConnection.Start(method, metadata, request, true, deadlineNanos,
                numbered ? own.value : 0, numbered ? client.answered() : 0, repeat);
        Runnable news = told == null ? null : this::onNews;
        CallStream begun = waits ? RpcClient.begin(to, start, news) : RpcClient.tryBegin(to, start, news);
        if (begun == null) {
            return false;
        }
        stream = begun;
        if (numbered) {
            begun.onEnd(own);
        }
        if (cancelled) {
            cancel();
        }
        if (told != null) {
            onNews(); // it may have ended before this knew it
        }
        return true;
    }

    /** Tells of the end, or makes the call again on a thread that may wait. */
    private void onNews() {
        CallStream now = stream;
        synchronized (this) {
            if (now == null || now.code() < 0 || seen == now) {
                return;
            }
            seen = now;
        }
        if (now.code() == Code.OK || cancelled || !mayRepeat(now)) {
            tell();
        } else {
            try {
                LibraryThreads.start("rdma-rpc-repeat", LibraryThreads.once(() -> repeat(now), this::failedBy));
            } catch (Error e) { // no memory: the call is not made again, and the application waits to be told
                failure = new RpcException(RpcStatus.UNAVAILABLE, e.toString(), RpcMetadata.EMPTY, e);
                tell();
            }
        }
    }

    private void repeat(CallStream failed) {
        try {
            again(failed);
        } catch (RpcException e) {
            failure = e;
            tell();
        }
    }

    /** Ends the call by an error: the application waits to be told. */
    private void failedBy(Throwable e) {
        failure = new RpcException(RpcStatus.INTERNAL, e.toString(), RpcMetadata.EMPTY, e);
        tell();
    }

    /** The call has ended for good, and the application may not ask how. It is told once, also if that throws. */
    private void tell() {
        synchronized (this) {
            if (isTold) {
                return;
            }
            isTold = true;
        }
        try {
            over();
        } finally {
            told.run();
        }
    }

    private void over() {
        RpcClient.Number own = number;
        if (own != null) {
            client.over(own, 0);
            number = null;
        }
    }

    /**
     * Waits for the answer.
     *
     * @return the answer
     * @throws RpcException if it did not end well; {@link RpcStatus#CANCELLED} with the interrupt status set if this
     *         virtual thread was interrupted
     */
    public byte[] await() throws RpcException {
        StackRoom.ensure(); // before the call can be over
        try {
            while (true) {
                CallStream now = stream;
                waitFor(now);
                if (failure != null) {
                    throw failure;
                }
                if (now.code() == Code.OK) {
                    byte[] answer = now.poll();
                    if (answer == null) {
                        throw new RpcException(RpcStatus.INTERNAL, "the server has ended the call without an answer");
                    }
                    return answer;
                }
                again(now);
            }
        } finally {
            over();
        }
    }

    private void waitFor(CallStream now) throws RpcException {
        try {
            if (!now.await(CallStream.END, deadlineNanos)) {
                now.cancel(Code.DEADLINE_EXCEEDED, "no answer within " + options.timeout());
            }
        } catch (IOException e) {
            now.cancel(Code.CANCELLED, "the calling thread was interrupted");
            throw RpcClient.interrupted();
        }
    }

    /** Makes a call that has failed again, if that may be; throws otherwise. */
    private void again(CallStream failed) throws RpcException {
        if (!mayRepeat(failed)) {
            throw RpcClient.failure(failed);
        }
        try {
            makeAgain(failed);
        } catch (RpcException e) {
            failure = cancelled ? new RpcException(RpcStatus.CANCELLED, CANCELLED) : e; // also for a later await
            throw failure;
        }
    }

    private void makeAgain(CallStream failed) throws RpcException {
        boolean unknown = failed.isLost();
        if (!backoff().pauseAfter(failed, options.idempotent())) {
            throw RpcClient.failure(failed);
        }
        if (!begin(unknown)) {
            throw new RpcException(RpcStatus.UNAVAILABLE, "the server was started anew while it had the call: " + method
                    + " may have run. Declare it idempotent if it may run again");
        }
    }

    private boolean mayRepeat(CallStream failed) {
        return failed.isNotBegun() || failed.isLost() || options.idempotent() && failed.code() == Code.UNAVAILABLE;
    }

    /**
     * Metadata that the server has sent before the answer. After the end.
     *
     * @return empty for nothing
     * @throws RpcException if it is damaged
     */
    public RpcMetadata headers() throws RpcException {
        return RpcServerCall.decode(stream.headers());
    }

    /**
     * Metadata that the server has sent with the answer. After the end.
     *
     * @return empty for nothing
     * @throws RpcException if it is damaged
     */
    public RpcMetadata trailers() throws RpcException {
        return RpcServerCall.decode(stream.trailers());
    }

    /**
     * Waits for the answer, for a time; then the call goes on.
     *
     * @param limit longest wait
     * @return whether {@link #await()} would not wait for it
     * @throws RpcException {@link RpcStatus#CANCELLED} with the interrupt status set if this virtual thread was
     *         interrupted, and the call with it
     */
    public boolean await(Duration limit) throws RpcException {
        StackRoom.ensure();
        CallStream now = stream;
        try {
            return now.await(CallStream.END, Math.min(deadlineNanos, NanoTimes.after(limit))) || now.code() >= 0;
        } catch (IOException e) {
            cancel();
            throw RpcClient.interrupted();
        }
    }

    /** Gives the call up: the server interrupts the method. Any thread, idempotent. */
    public void cancel() {
        cancelled = true;
        StackRoom.ensure();
        RpcClient.Backoff trying = backoff;
        if (trying != null) {
            trying.giveUp();
        }
        CallStream now = stream;
        if (now != null) {
            now.cancel(Code.CANCELLED, CANCELLED);
        }
    }

    /** {@return the address and port of this end of the connection that carries the call now} */
    public InetSocketAddress localAddress() {
        return stream.carrier().localAddress();
    }

    /** {@return the address and port of the server} */
    public InetSocketAddress remoteAddress() {
        return stream.carrier().remoteAddress();
    }

    @Override
    public String toString() {
        return method + (stream.code() < 0 ? " (in progress)" : " (" + RpcStatus.of(stream.code()) + ")");
    }
}
