package org.rdmasockets.provider.sharedmemory;

import org.rdmasockets.provider.sharedmemory.link.RingEntry;

/** The sends that come for one connection from another process, each in one or more parts, in the order of the ring. */
final class IncomingSends {
    private final LinkPeer peer;
    /** How many bytes of a send are still to come, -1 when none has begun. */
    private int expected = -1;
    /** Length and acceptance of the send that comes. */
    private int length;
    private boolean filling;

    /** None has begun. */
    IncomingSends(LinkPeer peer) {
        this.peer = peer;
    }

    /** A part of a send came. */
    void onPart(RingEntry entry) {
        if ((entry.flags() & LinkEnd.FIRST) != 0) {
            begin(entry);
        }
        int part = entry.payloadBytes();
        if (expected < part) {
            throw new IllegalArgumentException("a send is longer than it said");
        }
        expected -= part;
        boolean last = (entry.flags() & LinkEnd.LAST) != 0;
        if (last != (expected == 0)) {
            throw new IllegalArgumentException("a send has another length than it said");
        }
        ReceiveQueue receives = peer.receives();
        if (filling && receives != null && part > 0 && !receives.put(entry.memory(), entry.payloadOffset(), part)) {
            filling = false;
            peer.faultOfOurs();
        }
        if (last && filling && receives != null) {
            receives.finish(true, length, (entry.flags() & LinkEnd.IMMEDIATE) != 0, entry.value());
        }
        if (last) {
            expected = -1;
        }
    }

    private void begin(RingEntry entry) {
        if (expected != -1) {
            throw new IllegalArgumentException("a send begins within a send");
        }
        length = LinkPeer.checkedLength(entry.first());
        expected = length;
        ReceiveQueue receives = peer.receives();
        int status = receives == null ? Status.RETRY_EXCEEDED : receives.begin(length);
        if (status == Status.NOT_READY) {
            throw new IllegalArgumentException("a message came without a receive");
        }
        filling = status == Status.SUCCESS;
        if (Status.breaksPeer(status)) {
            peer.faultOfOurs();
        }
    }
}
