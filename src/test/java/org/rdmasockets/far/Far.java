package org.rdmasockets.far;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * A thing of the other JVM. What is asked of it runs there, in a thread of the caller's kind; once it is forgotten
 * here, it is forgotten there.
 *
 * @param <S> type of the thing
 */
public final class Far<S> {
    private static final Cleaner CLEANER = Cleaner.create();

    private final OtherJvm jvm;
    private final long number;

    Far(OtherJvm jvm, long number) {
        this.jvm = jvm;
        this.number = number;
        CLEANER.register(this, () -> jvm.forget(number));
    }

    /**
     * Asks the thing.
     *
     * @param <T> type of the answer
     * @param <E> what the question may throw
     * @param question what to ask
     * @return the answer, a copy
     * @throws E what the question throws there
     */
    public <T, E extends Exception> T ask(Question<S, T, E> question) throws E {
        try {
            return jvm.ask(number, question);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Tells the thing to do something.
     *
     * @param <E> what the order may throw
     * @param order what to do
     * @throws E what the order throws there
     */
    public <E extends Exception> void tell(Order<S, E> order) throws E {
        Question<S, Void, E> question = thing -> {
            order.give(thing);
            return null;
        };
        ask(question);
    }

    /**
     * Asks the thing for another one, which stays there.
     *
     * @param <T> type of the other one
     * @param <E> what the maker may throw
     * @param maker makes or finds it
     * @return the other one
     * @throws E what the maker throws there
     */
    public <T, E extends Exception> Far<T> make(Question<S, T, E> maker) throws E {
        try {
            return jvm.make(number, maker);
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
