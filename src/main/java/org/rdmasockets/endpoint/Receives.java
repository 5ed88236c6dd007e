package org.rdmasockets.endpoint;

import org.rdmasockets.internal.waiting.Completion;

/** The receive queue, of messages or raw: then without credits and words of the peer. By the protocol lock. */
sealed interface Receives permits ReceiveSide, RawReceives {
    /** A receive has completed well; throws if no honest peer sends that. */
    void completed(int index, Completion completion) throws Violation;

    /** A receive has completed without anything in it. */
    default void flushed(int index) {}

    /** The word of the peer in a receive after the end, or null; throws if no honest peer sends that. */
    default Header late(int index, Completion completion) throws Violation {
        return null;
    }

    /** Nothing more will arrive, for that reason. */
    void end(EndpointException reason);

    /** This end was closed: drops what has arrived. */
    default void discard() {}

    /** The queue pair is gone: the device is done with everything. */
    default void releaseAll() {}

    /** A header with the counts of this time. */
    default Header stamp(Header header) {
        return header;
    }

    /** Whether the peer should be told soon that data was taken. */
    default boolean owesCredit() {
        return false;
    }

    /** Whether the peer must be told at once that control messages were taken. */
    default boolean owesControlCredit() {
        return false;
    }
}
