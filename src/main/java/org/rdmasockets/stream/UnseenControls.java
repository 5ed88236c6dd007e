package org.rdmasockets.stream;

/**
 * Control messages that the peer is not known to have taken out of its receive queue, in two generations: those up to a
 * mark, and those after it. Numbers of messages wrap around.
 */
final class UnseenControls {
    private int marked;
    private int later;
    /** The marked ones are gone once the peer has taken out more data messages than were sent before the mark, */
    private int markedSent;
    private int laterSent;
    /** or has sent more data messages than we had granted before the mark. */
    private int markedGranted;
    private int laterGranted;

    /** None yet. */
    UnseenControls() {}

    /**
     * Counts one that was sent: how many data messages went before it, and the limit the peer had from us before it.
     */
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

    /** How many there may be. */
    int count() {
        return marked + later;
    }
}
