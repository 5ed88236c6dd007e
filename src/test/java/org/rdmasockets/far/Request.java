package org.rdmasockets.far;

import java.io.Serializable;

/**
 * A call to run in the other JVM.
 *
 * @param number of the call
 * @param thing number of the thing that is asked; 0 for none
 * @param question the question to run
 * @param keep whether the result stays there, and its number is the answer
 * @param virtual whether to run it in a virtual thread
 * @param interrupted whether the caller was interrupted before
 */
record Request(long number, long thing, Question<?, ?, ?> question, boolean keep, boolean virtual,
        boolean interrupted) implements Serializable {
}
