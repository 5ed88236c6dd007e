package org.rdmasockets.far;

/**
 * A thing of this JVM.
 *
 * @param <S> type of the thing
 * @param thing the thing
 */
public record Here<S>(S thing) implements Holder<S> {
    @Override
    public <T, E extends Exception> T ask(Question<S, T, E> question) throws E {
        return question.ask(thing);
    }

    @Override
    public <T, E extends Exception> Here<T> make(Question<S, T, E> maker) throws E {
        return new Here<>(maker.ask(thing));
    }
}
