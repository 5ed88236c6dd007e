package org.rdmasockets.endpoint;

import org.rdmasockets.verbs.SendRequest;

/** A write of nothing, which only an endpoint that is there acknowledges. */
final class Probe extends Operation {
    /** A probe that was not posted. */
    Probe() {
        super(null);
    }

    @Override
    boolean takesReceive() {
        return false;
    }

    @Override
    void fill(SendRequest request, long workRequestId, SendSlot slot) {
        request.write(workRequestId, 0, 0);
    }

    @Override
    void succeed(SendSlot slot) {
        // The peer is there.
    }

    @Override
    void fail(EndpointException reason) {
        // The connection knows.
    }

    @Override
    public String toString() {
        return "a sign of life";
    }
}
