package org.rdmasockets.far;

/**
 * Has a thing, here or in another JVM, and can be asked about it: code that is written against a holder runs in one JVM
 * and in two.
 *
 * @param <S> type of the thing
 */
public interface Holder<S> {
    /**
     * Asks the thing.
     *
     * @param <T> type of the answer
     * @param <E> type of the exception that the question may throw
     * @param question the question
     * @return the answer, which may be a copy
     * @throws E thrown by the question
     */
    <T, E extends Exception> T ask(Question<S, T, E> question) throws E;

    /**
     * Asks the thing for another one, which stays where it is.
     *
     * @param <T> type of the other one
     * @param <E> type of the exception that the maker may throw
     * @param maker makes or finds it
     * @return holds the other one
     * @throws E thrown by the maker
     */
    <T, E extends Exception> Holder<T> make(Question<S, T, E> maker) throws E;

    /**
     * Tells the thing to do something.
     *
     * @param <E> type of the exception that the order may throw
     * @param order the order
     * @throws E thrown by the order
     */
    default <E extends Exception> void tell(Order<S, E> order) throws E {
        Question<S, Void, E> question = thing -> {
            order.give(thing);
            return null;
        };
        ask(question);
    }
}
