package org.rdmasockets.far;

import java.io.Serializable;

/**
 * A {@link Question} without an answer.
 *
 * @param <S> type of the thing
 * @param <E> type of the exception that it may throw
 */
@FunctionalInterface
public interface Order<S, E extends Exception> extends Serializable {
    /**
     * Does it.
     *
     * @param thing the thing; null where nothing is needed
     * @throws E if it fails
     */
    void give(S thing) throws E;
}
