package org.rdmasockets.verbs.spi;

import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.SendRequest;

/**
 * The hints of a write with immediate data ({@link SendRequest#hints(int)}), by which many small messages cost the peer
 * little. Devices that cannot follow a hint, or not for this request, take it as any other; shared memory between
 * processes can. Bits and not methods, so that they cost the way of data no call and a start no class.
 *
 * @since 0.1
 */
public final class SendHints {
    /**
     * The next request may join this one ({@link #JOINING}). Costs a little where requests can be joined, so not for
     * one that nothing will follow soon.
     */
    public static final int OPEN = 1;

    /**
     * This changes the peer's memory as late as the peer takes its message ({@code IBV_ACCESS_RELAXED_ORDERING}, for
     * one request): requests behind it, to the same memory too, may come before it. Shared memory between processes
     * does so for what {@link SendRequest#bytes} gives.
     */
    public static final int RELAXED = 1 << 1;

    /**
     * This may join the last message of the queue pair, if that was an {@link #OPEN} write with immediate data, with or
     * without others that joined it, and the peer has not taken it yet: then no message is sent for this one, it takes
     * no receive, and the peer finds one message as long as all together, with {@link SendRequest#joinedImmediate} as
     * its immediate data. Requests without a message in between do not count. It completes by itself as any other, and
     * nothing is ever held back for it. Nothing but a write with immediate data joins.
     */
    public static final int JOINING = 1 << 2;

    /** The result of {@link QueuePair#postSend} for a request that was taken and has joined the one before it. */
    public static final int JOINED = -1;

    private SendHints() {}
}
