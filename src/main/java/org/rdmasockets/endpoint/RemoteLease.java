package org.rdmasockets.endpoint;

import java.io.IOException;
import java.time.Duration;
import org.rdmasockets.internal.lock.StackRoom;

/**
 * Memory of the peer that this end may use for a time. It ends when it is closed, or handed over, or when its time is
 * over: then the peer takes its memory back, and its key opens nothing any more. (While the peer itself works on the
 * memory, the key lasts as long as that, or until the peer's {@linkplain RdmaEndpointBuilder#answerTimeout time to
 * answer} is over and the connection ends. Memory that the peer had shared and that is handed over to it again keeps
 * the key that the peer's application has given it.) Times are each end's own,
 * measured from when it was told, never a clock on the wall; this end counts from before the peer does where it can.
 * Any thread.
 *
 * @since 0.1
 */
public final class RemoteLease implements AutoCloseable {
    private final EndpointProtocol link;
    final long number;
    private final RemoteRegion region;
    private final long endNanos;
    /** Changed under this. */
    private volatile String ended;

    /** A lease of the link's peer that has begun, and ends at a time of {@code System.nanoTime}. */
    RemoteLease(EndpointProtocol link, Header grant, long endNanos) {
        this.link = link;
        this.number = grant.number();
        this.endNanos = endNanos;
        region = new RemoteRegion(grant.address(), grant.lengthBytes(), grant.word(), Rights.decode(grant.flags()),
                this);
    }

    /**
     * The memory. Operations on it, or a part of it, are refused once the lease has ended, and on other connections.
     *
     * @return the memory to read from and write to
     */
    public RemoteRegion region() {
        return region;
    }

    /** {@return how long the lease lasts from now on, zero if it has ended} */
    public Duration remaining() {
        return ended != null ? Duration.ZERO : Duration.ofNanos(Math.max(0, endNanos - System.nanoTime()));
    }

    /** {@return whether the lease has ended, in whatever way, so that operations are refused} */
    public boolean isExpired() {
        return remaining().isZero();
    }

    /** Refuses operations of another connection, which the peer would refuse by breaking it. */
    void ensureOf(EndpointProtocol by) {
        if (by != link) {
            throw new IllegalArgumentException("the lease is of another connection");
        }
    }

    /** Refuses operations on memory that may be another's by now. */
    void ensureAlive() throws EndpointException {
        if (isExpired()) {
            String how = ended;
            throw new EndpointException(EndpointException.Reason.LEASE, "the lease " + (how == null
                    ? "has expired: ask for a longer one, or for another" : how));
        }
    }

    /** Ends it on this side; false if it had ended before. */
    synchronized boolean end(String how) {
        boolean first = ended == null;
        if (first) {
            ended = how;
        }
        return first;
    }

    /**
     * Gives the memory back to the peer, which frees it. Operations in progress should have ended. Idempotent, never
     * blocks; does nothing on a connection that is over.
     */
    @Override
    public void close() {
        StackRoom.ensure();
        if (end("was closed")) {
            link.borrower.release(this);
        }
    }

    /** Gives the memory to the peer's application, which gets it by {@link RdmaEndpoint#receiveHandedOver}. */
    void handOver(long deadlineNanos) throws IOException {
        ensureAlive();
        if (!end("was handed over")) {
            ensureAlive();
        }
        link.borrower.handOver(this).await(deadlineNanos);
    }

    @Override
    public String toString() {
        return "RemoteLease[" + region + ", remaining=" + remaining() + "]";
    }
}
