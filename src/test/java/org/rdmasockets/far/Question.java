package org.rdmasockets.far;

import java.io.Serializable;

/**
 * A question to a thing, asked where it is: a lambda that captures only what can be serialized, and options.
 *
 * @param <S> type of the thing
 * @param <T> type of the answer, which can be serialized
 * @param <E> type of the exception that it may throw
 */
@FunctionalInterface
public interface Question<S, T, E extends Exception> extends Serializable {
    /**
     * Asks.
     *
     * @param thing the thing; null where nothing is needed
     * @return the answer
     * @throws E if it fails
     */
    T ask(S thing) throws E;
}
