package org.rdmasockets.stream;

/**
 * Which directions are open, and which message is due about it. The messages are C's:
 *
 * <pre>
 * we shut the output                      SHUTDOWN if we still take input, else DISCONNECT
 * we shut the input                       nothing if the output is open, else DISCONNECT
 * we close                                DISCONNECT
 * the peer's SHUTDOWN                     end of input; if we sent ours before, both are done, no further message
 * the peer's DISCONNECT                   end of input, and it reads no more; never answered
 * </pre>
 */
final class Closing {
    /** What {@link #due} returns when nothing is to be sent. */
    static final int NOTHING = -1;

    private boolean inputShut;
    private boolean outputShut;
    private boolean inputEnded;
    private boolean shutdownSent;
    private boolean disconnectSent;
    private boolean peerDisconnected;

    /** The application reads no more. */
    void shutInput() {
        inputShut = true;
    }

    /** The application writes no more. */
    void shutOutput() {
        outputShut = true;
    }

    /**
     * The peer says something.
     *
     * @param control argument of a control message; unknown ones mean nothing
     */
    void received(int control) {
        if (control == ImmediateData.DISCONNECT) {
            inputEnded = true;
            peerDisconnected = true;
        } else if (control == ImmediateData.SHUTDOWN) {
            inputEnded = true;
        }
    }

    /**
     * What is to be told to the peer.
     *
     * @return {@link ImmediateData#SHUTDOWN}, {@link ImmediateData#DISCONNECT} or {@link #NOTHING}
     */
    int due() {
        if (!outputShut || isFinished()) {
            return NOTHING;
        }
        if (inputShut || inputEnded) {
            return ImmediateData.DISCONNECT;
        }
        return shutdownSent ? NOTHING : ImmediateData.SHUTDOWN;
    }

    /**
     * The peer was told.
     *
     * @param control what {@link #due} returned
     */
    void sent(int control) {
        if (control == ImmediateData.DISCONNECT) {
            disconnectSent = true;
        } else {
            shutdownSent = true;
        }
    }

    /**
     * Tells whether both ends have said all they ever will.
     *
     * @return true after a DISCONNECT in either direction, or a SHUTDOWN in both
     */
    boolean isFinished() {
        return disconnectSent || peerDisconnected || shutdownSent && inputEnded;
    }

    /**
     * Tells whether the peer may send data that somebody wants.
     *
     * @return false after its SHUTDOWN or DISCONNECT
     */
    boolean isInputEnded() {
        return inputEnded;
    }

    /**
     * Tells whether the application reads no more.
     *
     * @return true after {@link #shutInput}
     */
    boolean isInputShut() {
        return inputShut;
    }

    /**
     * Tells whether the application writes no more.
     *
     * @return true after {@link #shutOutput}
     */
    boolean isOutputShut() {
        return outputShut;
    }

    /**
     * Tells whether the peer's queue pair is about to go.
     *
     * @return true after its DISCONNECT
     */
    boolean isPeerDisconnected() {
        return peerDisconnected;
    }

    @Override
    public String toString() {
        return (inputShut ? "inputShut " : "") + (outputShut ? "outputShut " : "") + (inputEnded ? "inputEnded " : "")
                + (shutdownSent ? "shutdownSent " : "") + (disconnectSent ? "disconnectSent " : "")
                + (peerDisconnected ? "peerDisconnected" : "");
    }
}
