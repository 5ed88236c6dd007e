package org.rdmasockets.stream;

/** What the peer lends: how many messages, and where to. What came before the start counts from then on. */
final class Borrowing {
    private static final int NONE = -1;

    private final SendWindow window;
    private final TargetTable targets;
    private final boolean immediateData;
    private boolean started;
    /** The credit update that came before {@link #start}, or {@link #NONE}. */
    private int earlyLimit = NONE;
    private int earlyLengthBytes;
    /** The peer has offered a chunk for all others, and we have not moved to it. */
    private boolean offered;

    /** Nothing is lent yet. With immediate data, the length of an update tells whether a chunk comes with it. */
    Borrowing(SendWindow window, TargetTable targets, boolean immediateData) {
        this.window = window;
        this.targets = targets;
        this.immediateData = immediateData;
    }

    /** Takes what the peer lends from the beginning. Null if all is well, otherwise what it did wrong before. */
    String start(ConnectData peer, int received) {
        started = true;
        targets.first(peer);
        window.start(peer.credits());
        return earlyLimit == NONE ? null : updateArrived(earlyLimit, earlyLengthBytes, received);
    }

    /**
     * Takes a credit update from a peer that has sent {@code received} data messages. They matter after its SHUTDOWN,
     * too: our direction is open. Null if all is well, otherwise what the peer did wrong.
     */
    String updateArrived(int limit, int lengthBytes, int received) {
        if (!started) {
            return keep(limit, lengthBytes);
        }
        String wrong = window.raise(limit);
        window.confirm(received);
        if (wrong != null) {
            return wrong;
        }
        if (!immediateData) {
            return targets.adopt(false);
        }
        return switch (lengthBytes) {
            case 0 -> null;
            case TargetTable.ENTRY_BYTES -> targets.adopt(true);
            default -> "announced a chunk with " + lengthBytes + " bytes";
        };
    }

    /** Before it got data from us, a peer has one reason to send an update: to lend its second chunk. */
    private String keep(int limit, int lengthBytes) {
        if (earlyLimit != NONE) {
            return "sent a second credit update before it had any data";
        }
        earlyLimit = limit;
        earlyLengthBytes = lengthBytes;
        return null;
    }

    /** Takes an offer; gives null if all is well, otherwise what the peer did wrong. */
    String offerArrived() {
        if (offered) {
            return "offered a second chunk before the first was taken";
        }
        offered = true;
        return targets.adoptOffer();
    }

    /** Whether the peer waits for us to {@link #moveOn} to the chunk it offered, and to be told so. */
    boolean isOffered() {
        return offered;
    }

    /** Moves to the chunk that was offered: data that is posted later goes there. */
    void moveOn() {
        offered = false;
        targets.moveToOffer();
    }
}
