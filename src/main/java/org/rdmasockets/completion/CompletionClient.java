package org.rdmasockets.completion;

/**
 * What an inbox delivers to: the state machine of one connection. All methods are called with the inbox's protocol
 * lock held, must not block, and must not call back into the inbox.
 */
public interface CompletionClient {
    /**
     * Takes in one completion or token. After a token that is a {@link Throwable}, every role must be ready.
     *
     * @param completion what arrived; not to be kept
     */
    void apply(Completion completion);

    /**
     * Tells whether a role may stop waiting: there is data or room, or nothing more can come. What it tells may change
     * between {@link CompletionInbox#enter} and {@link CompletionInbox#exit} only.
     *
     * @param role which waiter asks
     * @return true if waiting is over
     */
    boolean ready(Role role);

    /**
     * Tells whether something has to be sent as soon as a send completes, such as a credit update that found no
     * control slot. Then a send completion wakes the reader when no writer waits, and runs the backlog task when nobody
     * does: otherwise both ends of the connection could wait for each other.
     *
     * @return true if the next send completion must be taken in by somebody
     */
    boolean creditOwed();
}
