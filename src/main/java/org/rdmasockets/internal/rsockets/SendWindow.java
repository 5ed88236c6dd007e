package org.rdmasockets.internal.rsockets;

/**
 * How many of the peer's posted receives may be used: the credits for data, and a reserve for control messages, which
 * cost a receive but no credit. C posts exactly as many receives as it gives credits.
 *
 * <p>The peer's limit is the number of our data messages that it has dealt with plus its receives. So the difference
 * between limit and credits at the start is what the peer is known to have taken out of its receive queue; with a data
 * message went all control messages sent before it.
 *
 * <p>A message that finds no receive is tried again after up to 655 ms on InfiniBand and RoCE: there a few credits stay
 * unused, no more. On iWARP it breaks the connection: there a quarter stays unused (but at least 16, at most half: C
 * renews credits only after half of them were used), and credit updates are counted against that reserve until
 * something shows that the peer has taken them out.
 */
final class SendWindow {
    /** The limit is 16 bits wide on the wire, so it is never further ahead than this. */
    private static final int MAX_AHEAD = 65534;
    private static final int LIMIT_MASK = 0xFFFF;
    private static final int MOST_RESERVE_WITH_RETRY = 8;
    private static final int LEAST_RESERVE_WITHOUT_RETRY = 16;
    /**
     * Updates leave this much of the reserve: for SHUTDOWN, DISCONNECT, and updates without which the peer would
     * starve.
     */
    private static final int URGENT_CONTROLS = 4;

    private int credits;
    private int reserve;
    /** Wrapping around, as the limit, which is never further ahead than {@link #MAX_AHEAD}. */
    private int sent;
    private int limit;

    /** Control messages that may still take a receive; null, because they need no count, if the device tries again. */
    private final UnseenControls controls;

    /** A closed window; {@code retry} if the device tries again when the peer has no receive. */
    SendWindow(boolean retry) {
        controls = retry ? null : new UnseenControls();
    }

    /** Opens the window by what the private data gave, 1 to 65534. */
    void start(int peerCredits) {
        credits = peerCredits;
        limit = peerCredits;
        int wanted = controls == null ? Math.min(MOST_RESERVE_WITH_RETRY, peerCredits / 8)
                : Math.max(LEAST_RESERVE_WITHOUT_RETRY, peerCredits / 4);
        reserve = Math.min(wanted, peerCredits / 2);
    }

    /** Tells whether a data message may be sent: true if a credit is left beyond the reserve. */
    boolean isOpen() {
        return limit - reserve - sent > 0;
    }

    /** Whether the device tries a message again for which the peer has no receive; else the connection breaks. */
    boolean isRetried() {
        return controls == null;
    }

    void dataSent() {
        sent++;
        assert limit - sent >= 0;
    }

    /**
     * Takes a new limit: 16 bits of a number that only grows, at most 65534 ahead of what we sent. One that fits in no
     * such way has gone backwards, which C never does. Null if all is well, else what the peer did wrong.
     */
    String raise(int argument) {
        int raised = limit + (argument - limit & LIMIT_MASK);
        if (raised - sent > MAX_AHEAD) {
            return "took credits back (limit " + (argument & LIMIT_MASK) + " after " + (limit & LIMIT_MASK) + ")";
        }
        limit = raised;
        return null;
    }

    /** Whether the peer can be sent an update that it can do without: not with too many controls on their way. */
    boolean allowsUpdate() {
        return controls == null || controls.count() < Math.max(1, reserve - URGENT_CONTROLS);
    }

    /** Counts a control message that was sent, and the limit the peer had from us before it. */
    void controlSent(int grantedBefore) {
        if (controls != null) {
            controls.add(sent, grantedBefore);
        }
    }

    /** Looks whether the peer has taken control messages out, by how many data messages it has sent. */
    void confirm(int received) {
        if (controls != null) {
            controls.confirm(limit - credits, received);
        }
    }

    @Override
    public String toString() {
        return "sent=" + Integer.toUnsignedString(sent) + " ahead=" + (limit - sent) + " reserve=" + reserve
                + (controls == null ? "" : " controls=" + controls.count());
    }

    /**
     * Control messages that the peer is not known to have taken out of its receive queue, in two generations: those up
     * to a mark, and those after it. Numbers of messages wrap around.
     */
    private static final class UnseenControls {
        private int marked;
        private int later;
        /** The marked ones are gone once the peer has taken out more data messages than were sent before the mark, */
        private int markedSent;
        private int laterSent;
        /** or has sent more data messages than we had granted before the mark. */
        private int markedGranted;
        private int laterGranted;

        /** Counts one: how many data messages went before it, and which limit the peer had from us then. */
        void add(int sentBefore, int grantedBefore) {
            if (marked == 0) {
                marked = 1;
                markedSent = sentBefore;
                markedGranted = grantedBefore;
            } else {
                later++;
                laterSent = sentBefore;
                laterGranted = grantedBefore;
            }
        }

        /** Forgets those that the peer must have taken out, by what it says to have taken and has sent. */
        void confirm(int taken, int received) {
            while (marked > 0 && (taken - markedSent > 0 || received - markedGranted > 0)) {
                marked = later;
                markedSent = laterSent;
                markedGranted = laterGranted;
                later = 0;
            }
        }

        int count() {
            return marked + later;
        }
    }
}
