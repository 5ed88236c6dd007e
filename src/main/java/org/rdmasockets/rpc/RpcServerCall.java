package org.rdmasockets.rpc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.rpc.call.CallStream;

/**
 * A call as its server sees it.
 *
 * @since 0.1
 */
public final class RpcServerCall {
    private final CallStream stream;
    private boolean sent;
    private RpcMetadata headers = RpcMetadata.EMPTY;
    private RpcMetadata trailers = RpcMetadata.EMPTY;

    RpcServerCall(CallStream stream) {
        this.stream = stream;
    }

    /** {@return the name that was called} */
    public String method() {
        return stream.method();
    }

    /**
     * The metadata that the client has sent with the call.
     *
     * @return headers
     * @throws RpcException if they are damaged
     */
    public RpcMetadata metadata() throws RpcException {
        return decode(stream.headers());
    }

    /** Reads metadata of a peer. */
    static RpcMetadata decode(byte[] bytes) throws RpcException {
        try {
            return RpcMetadata.decode(bytes);
        } catch (IllegalArgumentException e) {
            throw new RpcException(RpcStatus.INTERNAL, e.getMessage(), RpcMetadata.EMPTY, e);
        }
    }

    /** {@return the time until the call's deadline, perhaps negative; empty if there is no deadline} */
    public Optional<Duration> timeLeft() {
        return stream.deadlineNanos() == Long.MAX_VALUE ? Optional.empty()
                : Optional.of(Duration.ofNanos(stream.deadlineNanos() - System.nanoTime()));
    }

    /**
     * {@return whether the answer is of no use any more: the call was cancelled, its time is over, or its client is
     * gone}
     */
    public boolean isCancelled() {
        return stream.code() >= 0;
    }

    /** {@return the address and port of the caller} */
    public InetSocketAddress remoteAddress() {
        return stream.carrier().remoteAddress();
    }

    /** {@return the name of the device or protocol that the call came over} */
    public String transport() {
        return stream.carrier().transport();
    }

    /**
     * Sets what goes to the client before the first answer.
     *
     * @param metadata headers
     * @throws IllegalStateException if an answer has been sent
     */
    public void headers(RpcMetadata metadata) {
        if (sent) {
            throw new IllegalStateException("headers go before the first answer");
        }
        headers = metadata;
    }

    /**
     * Sets what goes to the client with the end.
     *
     * @param metadata trailers
     */
    public void trailers(RpcMetadata metadata) {
        trailers = metadata;
    }

    RpcMetadata trailers() {
        return trailers;
    }

    void flushHeaders() {
        if (!sent && headers != RpcMetadata.EMPTY) {
            stream.send(headers.encode(), null, false);
        }
        sent = true;
    }

    /**
     * Waits for the next request.
     *
     * @return the request; null after the last one
     * @throws IOException {@link RpcException} if the call is over, {@code InterruptedIOException} if this thread was
     *         interrupted
     */
    public byte[] receive() throws IOException {
        StackRoom.ensure();
        byte[] message = stream.poll();
        while (message == null && !stream.isInputEnded()) {
            stream.await(CallStream.INPUT, Long.MAX_VALUE);
            message = stream.poll();
        }
        if (message == null) {
            ensureOpen();
        }
        return message;
    }

    /**
     * Sends an answer. Waits while the client does not take what was sent before.
     *
     * @param answer not kept
     * @throws IOException {@link RpcException} if the call is over, {@code InterruptedIOException} if this thread was
     *         interrupted
     */
    public void send(byte[] answer) throws IOException {
        StackRoom.ensure();
        if (!stream.hasRoom()) {
            stream.await(CallStream.ROOM, Long.MAX_VALUE);
        }
        byte[] first = sent ? null : headers.encode();
        sent = true;
        if (!stream.send(first, answer, false)) {
            ensureOpen();
        }
    }

    private void ensureOpen() throws RpcException {
        if (stream.code() > 0) {
            throw new RpcException(RpcStatus.of(stream.code()), stream.text());
        }
    }

    @Override
    public String toString() {
        return stream + " from " + remoteAddress();
    }
}
