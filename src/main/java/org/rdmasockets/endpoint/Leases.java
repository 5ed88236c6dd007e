package org.rdmasockets.endpoint;

/** What the two ends of a connection lend each other. Protected by the protocol lock. */
final class Leases {
    private final Link link;
    final Lender lender;
    final Borrower borrower;

    /** Nothing is lent; the peer gets what it asks for at once if {@code open}, else once the lender is opened. */
    Leases(Link link, Settings settings, boolean open) {
        this.link = link;
        lender = new Lender(link, settings, open);
        borrower = new Borrower(link);
    }

    /** Something that concerns leases, or the end, has come. */
    void onNotice(Header header) throws Violation {
        switch (header.kind()) {
            case LEASE_REQUEST -> lender.onRequest(header);
            case LEASE_GRANT -> borrower.onGrant(header);
            case LEASE_REFUSAL -> borrower.onRefusal(header);
            case LEASE_RELEASE -> lender.onRelease(header.number());
            case SHARE -> borrower.onShare(header);
            case HAND_OVER -> lender.onHandOver(header);
            case HANDED_OVER -> borrower.onHandedOver(header);
            case BYE -> link.traffic.onBye();
            case SIGNAL -> link.traffic.messageSide().onSignal(header);
            case CREDIT -> {
                if ((header.flags() & Header.LEAVING) != 0) {
                    link.traffic.onLeaving();
                }
            }
            case MESSAGE -> {}
        }
    }

    /** The connection is over: the peer answers nothing any more, and what it was lent is taken back. */
    void end(EndpointException reason) {
        lender.end();
        borrower.end(reason);
    }
}
