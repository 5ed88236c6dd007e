package org.rdmasockets.internal.waiting;

/**
 * The state machine of one connection, to which an inbox delivers. No method may block or call back into the inbox. All
 * but {@link #onBacklog} are called with the inbox's protocol lock held.
 */
public interface CompletionClient {
    /**
     * Takes in one completion or token, which is not to be kept. After a token that is a {@link Throwable}, completions
     * may be lost: a client of completions then has every role ready.
     */
    void apply(Completion completion);

    /**
     * Whether a role may stop waiting: there is data or room, or nothing more can come. The answer may change between
     * {@link CompletionInbox#enter} and {@link CompletionInbox#exit} only, or where a token tells of that.
     */
    boolean ready(Role role);

    /**
     * Does what has to follow from all that was done inside; called before a thread leaves, at least once.
     * True if a thread must take in the next send completion, because something has to be sent as soon as a send
     * completes, such as a credit update that found no control slot. Then a send completion wakes the reader when no
     * writer waits, and is a backlog when no thread waits: otherwise both ends could wait for each other.
     */
    boolean beforeExit();

    /**
     * Much has arrived and no thread waits, or anything while credit is owed or after {@link CompletionInbox#tellAll};
     * {@link CompletionInbox#backlogBytes} says how much is much. Called once for all that arrives until a thread
     * enters, in the thread that brought it. Must not block or throw: hand the work, which begins with
     * {@link CompletionInbox#enter} and does nothing if there is nothing to do, to another thread.
     */
    default void onBacklog() {}
}
