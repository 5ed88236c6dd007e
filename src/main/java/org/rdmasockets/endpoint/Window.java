package org.rdmasockets.endpoint;

/** How many messages of one class the peer has room for. Protected by the protocol lock; counts wrap around. */
final class Window {
    /** How many the peer takes at once. */
    private int size;
    private int sent;
    /** How many of them the peer has taken. */
    private int taken;

    /** The peer takes so many at once. */
    void open(int messages) {
        size = messages;
    }

    /** How many may be sent now. */
    int room() {
        return size - (sent - taken);
    }

    /** Whether the peer has taken all that was sent. */
    boolean isTaken() {
        return sent == taken;
    }

    /** One more is on its way. */
    void send() {
        sent++;
    }

    /** The peer has taken so many since the beginning; throws if that is more than was sent, or less than before. */
    void acknowledge(int count) throws Violation {
        if (count - taken < 0 || sent - count < 0) {
            throw new Violation("the peer says that it has taken " + Integer.toUnsignedString(count)
                    + " messages, after " + Integer.toUnsignedString(taken) + " of "
                    + Integer.toUnsignedString(sent));
        }
        taken = count;
    }
}
