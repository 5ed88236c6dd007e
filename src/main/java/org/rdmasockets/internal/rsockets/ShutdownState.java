package org.rdmasockets.internal.rsockets;

/**
 * Knows which directions are open, and which message about that is due to the peer. The messages are C's:
 *
 * <pre>
 * we shut the output                      SHUTDOWN if we still take input, else DISCONNECT
 * we shut the input                       nothing if the output is open, else DISCONNECT
 * we close                                DISCONNECT; before that UNREAD, if we did not read all, and it still writes
 * the peer's SHUTDOWN                     end of input; if we sent ours before, both are done, no further message
 * the peer's DISCONNECT                   end of input, and it reads no more; never answered
 * our process ends                        LEAVING, unless the output is shut
 * the peer goes after its LEAVING         as its DISCONNECT
 * </pre>
 *
 * <p>UNREAD and LEAVING are ours; C ignores them.
 *
 * <p>The first write after the peer's DISCONNECT succeeds and goes nowhere, as over TCP, where the reset that answers
 * it ends all later ones. That reset comes earlier, and no write succeeds, if one was under way at the peer's close or
 * if the peer closes with data unread.
 *
 * <p>We say DISCONNECT once where C says nothing: over iWARP, where a completed message need not have arrived, when we
 * close after both have sent SHUTDOWN. A peer of this library that takes that in goes, which proves that it has taken
 * in everything; one in C ignores it, and goes when its program closes.
 */
final class ShutdownState {
    /** The result of {@link #due} when nothing is to be sent. */
    static final int NOTHING = -1;

    private static final int INPUT_SHUT = 1;
    private static final int OUTPUT_SHUT = 2;
    private static final int INPUT_ENDED = 4;
    private static final int SHUTDOWN_SENT = 8;
    private static final int DISCONNECT_SENT = 16;
    private static final int PEER_DISCONNECTED = 32;
    private static final int CLOSED = 64;
    private static final int PEER_GONE = 128;
    /** Set from the beginning: a completed message need not have arrived. */
    private static final int UNPROVEN = 256;
    /** The peer has to be told that this process ends. */
    private static final int LEAVING_DUE = 512;
    private static final int PEER_LEAVING = 1024;
    /** No further write may succeed and be lost: one was, or one failed, or the peer has closed with data unread. */
    private static final int WRITE_LOST = 2048;
    /** The peer has to be told that this end closes with data unread. */
    private static final int UNREAD_DUE = 4096;

    /**
     * The events so far, a set of the above; in one field, since each further field costs memory of every idle
     * connection.
     */
    private int happened;

    /** Both directions open; {@code unproven} if a completed message need not have arrived, as on iWARP. */
    ShutdownState(boolean unproven) {
        happened = unproven ? UNPROVEN : 0;
    }

    private boolean has(int event) {
        return (happened & event) != 0;
    }

    void shutInput() {
        happened |= INPUT_SHUT;
    }

    void shutOutput() {
        happened |= OUTPUT_SHUT;
    }

    /** The application neither reads nor writes any more; {@code unread} if it has not read all that came. */
    void close(boolean unread) {
        happened |= INPUT_SHUT | OUTPUT_SHUT | CLOSED | (unread && !has(INPUT_ENDED) ? UNREAD_DUE : 0);
    }

    /** This process ends soon. */
    void leave() {
        if (!has(OUTPUT_SHUT) && !isFinished()) {
            happened |= LEAVING_DUE;
        }
    }

    /** The peer says something; unknown arguments of control messages mean nothing. */
    void received(int control) {
        if (control == ImmediateData.DISCONNECT) {
            happened |= INPUT_ENDED | PEER_DISCONNECTED;
        } else if (control == ImmediateData.SHUTDOWN) {
            happened |= INPUT_ENDED;
        } else if (control == ImmediateData.LEAVING) {
            happened |= PEER_LEAVING;
        } else if (control == ImmediateData.UNREAD) {
            happened |= WRITE_LOST;
        }
    }

    /** The peer's queue pair is gone, whatever the peer said before: it can be told nothing more. */
    void peerIsGone() {
        happened |= PEER_GONE | (isPeerLeaving() ? INPUT_ENDED | PEER_DISCONNECTED : 0);
    }

    /** Whether the peer has said LEAVING: its process was ending, and its queue pair goes without another word. */
    boolean isPeerLeaving() {
        return has(PEER_LEAVING);
    }

    /** Lets the first write after the peer's DISCONNECT succeed, once, unless the output was ended. */
    boolean loseWrite() {
        if ((happened & (PEER_DISCONNECTED | OUTPUT_SHUT | WRITE_LOST)) != PEER_DISCONNECTED) {
            return false;
        }
        happened |= WRITE_LOST;
        return true;
    }

    /** After a write that failed, lets no write succeed after the peer's DISCONNECT. */
    void refuseWrites() {
        happened |= WRITE_LOST;
    }

    /** The next word for the peer, one of {@link ImmediateData}, or {@link #NOTHING}. */
    int due() {
        if ((happened & (OUTPUT_SHUT | LEAVING_DUE)) == 0) {
            return NOTHING;
        }
        if (!has(OUTPUT_SHUT)) {
            return has(LEAVING_DUE) && !isFinished() ? ImmediateData.LEAVING : NOTHING;
        }
        if (isFinished() && !lacksProof()) {
            return NOTHING;
        }
        if (has(INPUT_SHUT) || has(INPUT_ENDED)) {
            return has(UNREAD_DUE) && !has(DISCONNECT_SENT) ? ImmediateData.UNREAD : ImmediateData.DISCONNECT;
        }
        return has(SHUTDOWN_SENT) ? NOTHING : ImmediateData.SHUTDOWN;
    }

    private boolean lacksProof() {
        return has(UNPROVEN) && has(CLOSED) && !has(DISCONNECT_SENT) && !has(PEER_DISCONNECTED) && !has(PEER_GONE);
    }

    /** The peer was told. */
    void sent(int control) {
        switch (control) {
            case ImmediateData.DISCONNECT -> happened |= DISCONNECT_SENT;
            case ImmediateData.SHUTDOWN -> happened |= SHUTDOWN_SENT;
            case ImmediateData.UNREAD -> happened &= ~UNREAD_DUE;
            default -> happened &= ~LEAVING_DUE;
        }
    }

    /** Whether a DISCONNECT went one way, or SHUTDOWNs both ways; over iWARP, a DISCONNECT at the close may follow. */
    boolean isFinished() {
        return (happened & (DISCONNECT_SENT | PEER_DISCONNECTED)) != 0
                || (happened & (SHUTDOWN_SENT | INPUT_ENDED)) == (SHUTDOWN_SENT | INPUT_ENDED);
    }

    /**
     * Tells whether the peer sends no more data that counts: true after its SHUTDOWN, DISCONNECT or end after LEAVING.
     */
    boolean isInputEnded() {
        return (happened & INPUT_ENDED) != 0;
    }

    /** Tells whether the peer may be told of room for data: not once it sends none, or both ends are finished. */
    boolean isOpenForNews() {
        return (happened & (INPUT_ENDED | DISCONNECT_SENT | PEER_DISCONNECTED)) == 0;
    }

    boolean isInputShut() {
        return (happened & INPUT_SHUT) != 0;
    }

    boolean isOutputShut() {
        return has(OUTPUT_SHUT);
    }

    boolean isOutputOver() {
        return (happened & (OUTPUT_SHUT | PEER_DISCONNECTED)) != 0;
    }

    /** Tells whether the peer's queue pair is about to go: true after its DISCONNECT. */
    boolean isPeerDisconnected() {
        return (happened & PEER_DISCONNECTED) != 0;
    }

    @Override
    public String toString() {
        return (has(INPUT_SHUT) ? "inputShut " : "") + (has(OUTPUT_SHUT) ? "outputShut " : "")
                + (has(INPUT_ENDED) ? "inputEnded " : "") + (has(SHUTDOWN_SENT) ? "shutdownSent " : "")
                + (has(DISCONNECT_SENT) ? "disconnectSent " : "")
                + (has(PEER_DISCONNECTED) ? "peerDisconnected " : "") + (has(PEER_GONE) ? "peerGone " : "")
                + (has(CLOSED) ? "closed" : "");
    }
}
