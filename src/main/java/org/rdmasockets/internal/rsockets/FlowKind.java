package org.rdmasockets.internal.rsockets;

/**
 * How a byte stream is carried. The end that connects proposes one, and the end that accepts agrees by saying the same
 * in its private data. C says nothing there, which means {@link #CREDIT_RING}.
 */
public enum FlowKind {
    /** rsockets: writes into pieces of memory that the peer lends, which tells of more by messages. */
    CREDIT_RING,
    /** Messages into receives that the peer has posted. */
    SEND_RECEIVE,
    /** Writes into a ring of the peer, whose position is learned by reading it. */
    READ_RING;

    private static final FlowKind[] ALL = values();

    /** The kind of a name; throws {@code IllegalArgumentException} if there is none. */
    public static FlowKind named(String name) {
        for (FlowKind kind : ALL) {
            if (kind.name().equals(name)) {
                return kind;
            }
        }
        throw new IllegalArgumentException("no stream is carried by " + name);
    }

    /** The kind that a peer names in its private data; {@link #CREDIT_RING} also for one that is not known here. */
    static FlowKind ofCode(int code) {
        return code > 0 && code < ALL.length ? ALL[code] : CREDIT_RING;
    }

    /** The byte for the private data. */
    int code() {
        return ordinal();
    }
}
