package org.rdmasockets.stream;

/**
 * Where the ends of chunks cut what the peer writes. A writer with a buffer of 64 KiB that has said hello in 8 bytes
 * would find each of its writes cut 8 bytes before its end, for ever: two messages, and two wake-ups of the reader,
 * where one would do. So once two ends have cut at the same place, the ends after them move there. A stream whose
 * writes differ in length is cut here and there, and nothing moves.
 */
final class Cuts {
    /** Some streams look as if they were cut, however the ends move: after so many times they stay. */
    private static final int MOST_MOVES = 8;
    /** So many ends still come that were where they are before a move. */
    private static final int PAUSE = 4;

    /** Lengths of the messages before and behind the last end of a chunk; 0 if it was in no message's way. */
    private int before;
    private int behind;
    /** Length of the last message if it filled a chunk to its end, otherwise 0. */
    private int ending;
    private byte moves;
    private byte pause;

    /** No chunk has ended yet. */
    Cuts() {}

    /**
     * Takes notice of a message that perhaps is the first in its chunk, or fills it to the end. Tells by how many bytes
     * the ends of chunks should move on, mostly 0.
     */
    int arrived(int bytes, boolean begins, boolean ends) {
        int move = begins ? cut(ending, bytes) : 0;
        ending = ends ? bytes : 0;
        return move;
    }

    /** Messages that are alike were not one. */
    private int cut(int newBefore, int newBehind) {
        boolean again = newBefore == before && newBehind == behind && before != 0 && before != behind;
        before = newBefore;
        behind = newBehind;
        if (pause > 0) {
            pause--;
            return 0;
        }
        if (!again || moves == MOST_MOVES) {
            return 0;
        }
        moves++;
        pause = PAUSE;
        return behind;
    }
}
