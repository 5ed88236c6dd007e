package org.rdmasockets.rpc;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.rpc.call.CallStream;
import org.rdmasockets.internal.rpc.call.Code;
import org.rdmasockets.internal.rpc.call.MessageTooLong;

/**
 * A call with any number of requests and answers. One thread at a time may send, one receive; any may cancel. Close it:
 * one that has not ended is cancelled then.
 *
 * @since 0.1
 */
public final class RpcClientCall implements AutoCloseable {
    private final CallStream stream;

    RpcClientCall(CallStream stream) {
        this.stream = stream;
    }

    /**
     * Sends a request. Waits while the server does not take what was sent before.
     *
     * @param request not kept
     * @throws RpcException if the call is over, by its status; {@link #receive} tells as well
     */
    public void send(byte[] request) throws RpcException {
        StackRoom.ensure();
        if (!stream.hasRoom()) {
            await(CallStream.ROOM);
        }
        try {
            if (!stream.send(null, request, false)) {
                throw stream.code() > 0 ? RpcClient.failure(stream) : new RpcException(RpcStatus.CANCELLED,
                        "nothing can be sent any more: the server has ended the call, or halfClose was called");
            }
        } catch (MessageTooLong e) {
            throw new RpcException(RpcStatus.RESOURCE_EXHAUSTED, e.getMessage());
        }
    }

    /**
     * Sends a request, if that needs no wait.
     *
     * @param request not kept
     * @return false if the server or the connection takes nothing now: then nothing was sent. True also if the call is
     *         over: {@link #receive} and {@link #failure} tell
     * @throws RpcException {@link RpcStatus#RESOURCE_EXHAUSTED} if it is longer than the server takes
     */
    public boolean trySend(byte[] request) throws RpcException {
        StackRoom.ensure();
        try {
            return stream.trySend(request);
        } catch (MessageTooLong e) {
            throw new RpcException(RpcStatus.RESOURCE_EXHAUSTED, e.getMessage());
        }
    }

    /** Says that no request follows. Idempotent, does not wait. */
    public void halfClose() {
        StackRoom.ensure();
        stream.halfClose();
    }

    /**
     * Waits for the next answer.
     *
     * @return the answer; null after the last one, when the call has ended well
     * @throws RpcException if it did not end well
     */
    public byte[] receive() throws RpcException {
        StackRoom.ensure();
        byte[] answer = stream.poll();
        while (answer == null && !stream.isInputEnded()) {
            await(CallStream.INPUT);
            answer = stream.poll();
        }
        if (answer == null && stream.code() != Code.OK) {
            throw RpcClient.failure(stream);
        }
        return answer;
    }

    /**
     * Waits for the server's headers.
     *
     * @return empty if there are none
     * @throws RpcException if the call did not end well before they came
     */
    public RpcMetadata headers() throws RpcException {
        StackRoom.ensure();
        if (!stream.isInputBegun()) {
            await(CallStream.HEADERS);
        }
        if (stream.headers() == null && stream.code() > 0) {
            throw RpcClient.failure(stream);
        }
        return RpcServerCall.decode(stream.headers());
    }

    /**
     * The metadata that the server has sent with the end.
     *
     * @return empty if there is nothing, or the call goes on
     * @throws RpcException if it is damaged
     */
    public RpcMetadata trailers() throws RpcException {
        return RpcServerCall.decode(stream.trailers());
    }

    /** {@return the next answer if it is here; null if none is here yet, or none will come: see {@link #isEnded}} */
    public byte[] poll() {
        StackRoom.ensure();
        return stream.poll();
    }

    /** {@return whether all answers were taken and none will come: {@link #failure} is final then} */
    public boolean isEnded() {
        return stream.isInputEnded();
    }

    /** {@return how the call failed, null while it goes on, and when it has ended well} */
    public RpcException failure() {
        return stream.code() > 0 ? RpcClient.failure(stream) : null;
    }

    /**
     * Tells whether the call has ended before it began: the server has refused it, as one does that shuts down, or has
     * not got it. It may be made again, whatever its method does.
     *
     * @return false while it goes on, and when its method may have run
     */
    public boolean isRefused() {
        return stream.code() >= 0 && stream.isNotBegun();
    }

    /**
     * Tells whether the server takes a request now, so that {@link #send} does not wait.
     *
     * @return false if it has not taken what was sent before, and when nothing can be sent any more
     */
    public boolean hasRoom() {
        return stream.hasRoom();
    }

    /**
     * Tells whether headers are here, so that {@link #headers} does not wait.
     *
     * @return false before they have come, and for ever if the server has sent none
     */
    public boolean hasHeaders() {
        return stream.headers() != null;
    }

    private void await(int what) throws RpcException {
        try {
            if (!stream.await(what, stream.deadlineNanos())) {
                stream.cancel(Code.DEADLINE_EXCEEDED, Code.TOO_LATE);
            }
        } catch (IOException e) {
            stream.cancel(Code.CANCELLED, "the calling thread was interrupted");
            throw RpcClient.interrupted();
        }
    }

    /** Gives the call up: the server interrupts the method. Any thread, idempotent. */
    public void cancel() {
        StackRoom.ensure();
        stream.cancel(Code.CANCELLED, "the call was cancelled");
    }

    /** Cancels the call unless it has ended. Idempotent. */
    @Override
    public void close() {
        cancel();
    }

    /** {@return the address and port of this end of the connection that carries the call} */
    public InetSocketAddress localAddress() {
        return stream.carrier().localAddress();
    }

    /** {@return the address and port of the server} */
    public InetSocketAddress remoteAddress() {
        return stream.carrier().remoteAddress();
    }

    @Override
    public String toString() {
        return stream.toString();
    }
}
