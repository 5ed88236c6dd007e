package org.rdmasockets.endpoint;

import org.rdmasockets.verbs.SendRequest;

/**
 * A long message that stays where it is: a header tells the peer where, the peer reads it when it takes it, and says
 * so. That needs no buffer of the peer beside the header's, and wakes the peer once.
 */
final class Rendezvous extends Operation {
    private final LocalRegion local;
    private boolean named;
    private boolean read;

    /** A message that was not named to the peer yet; throws if its memory is in use. */
    Rendezvous(LocalRegion local, Pending<Void> pending) {
        super(local.hold(false, "send"), pending);
        this.local = local;
    }

    @Override
    boolean takesReceive() {
        return true;
    }

    @Override
    boolean isAnswered() {
        return read || !named;
    }

    /** The peer has read it. */
    void onRead() {
        read = true;
        endIfDone(null);
    }

    @Override
    void fill(SendRequest request, long workRequestId, SendSlot slot) {
        named = true;
        slot.header(new Header(Header.Kind.MESSAGE, Header.FIRST | Header.RENDEZVOUS, 0, 0,
                local.block.region.remoteKey(), 0, 0, local.block.region.address() + local.offset(), local.length(), 0),
                request.send(workRequestId));
    }

    @Override
    public String toString() {
        return "a message of " + local.length() + " bytes for the peer to read";
    }
}
