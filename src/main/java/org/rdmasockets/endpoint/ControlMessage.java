package org.rdmasockets.endpoint;

import java.util.function.Consumer;
import org.rdmasockets.verbs.SendRequest;

/** A message that is a header and nothing else. It is written when it is posted, with the counts of that time. */
final class ControlMessage extends Operation {
    private final Header header;
    /** When the time that the header names is over, by {@code System.nanoTime}; 0 if it names none. */
    private final long deadlineNanos;
    private final Consumer<EndpointException> ended;

    /** A message whose sender does not care. */
    ControlMessage(Header header) {
        this(header, 0, failure -> { });
    }

    /**
     * A message, whose header has no counts yet. If it names a time, the deadline is its end by
     * {@code System.nanoTime}, else 0: what is left of it when it is posted goes over the wire, so that no two clocks
     * are compared. {@code ended} is told when it was sent, with null, or why it may not arrive.
     */
    ControlMessage(Header header, long deadlineNanos, Consumer<EndpointException> ended) {
        super(null, null);
        this.header = header;
        this.deadlineNanos = deadlineNanos;
        this.ended = ended;
    }

    /** A message whose sender waits until it is there. */
    ControlMessage(Header header, long deadlineNanos, Pending<Void> pending) {
        this(header, deadlineNanos, failure -> {
            if (failure == null) {
                pending.complete(null);
            } else {
                pending.fail(failure);
            }
        });
    }

    @Override
    boolean isControl() {
        return !header.kind().isData();
    }

    @Override
    boolean takesReceive() {
        return true;
    }

    @Override
    void fill(SendRequest request, long workRequestId, SendSlot slot) {
        request.send(workRequestId);
        slot.header(deadlineNanos == 0 ? header
                : header.withNanos(Math.max(0, deadlineNanos - System.nanoTime())), request);
    }

    @Override
    void succeed(SendSlot slot) {
        ended.accept(null);
    }

    @Override
    void fail(EndpointException reason) {
        ended.accept(reason);
    }

    @Override
    public String toString() {
        return "a message " + header.kind();
    }
}
