package org.rdmasockets.far;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * A thing of the other JVM. A question to it runs there, in a thread of the caller's kind; once it is forgotten here,
 * it is forgotten there.
 *
 * @param <S> type of the thing
 */
public final class Far<S> implements Holder<S> {
    private static final Cleaner CLEANER = Cleaner.create();

    private final OtherJvm jvm;
    private final long number;

    Far(OtherJvm jvm, long number) {
        this.jvm = jvm;
        this.number = number;
        CLEANER.register(this, () -> jvm.forget(number));
    }

    @Override
    public <T, E extends Exception> T ask(Question<S, T, E> question) throws E {
        try {
            return jvm.ask(number, question);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    @Override
    public <T, E extends Exception> Far<T> make(Question<S, T, E> maker) throws E {
        try {
            return jvm.make(number, maker);
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
