package org.rdmasockets.internal.connection;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Lets equal values that are made one after the other be one object: what thousands of connections are made with is
 * mostly the same. Some are kept for as long as no others take their places. Any thread.
 *
 * @param <T> an immutable type with {@code equals} and {@code hashCode}
 */
public final class Interner<T> {
    /**
     * A power of two, many more than values in turn: of three that fall into one pair of places, none is ever found
     * again, and each connection has one of its own. Their hash codes differ from process to process.
     */
    private static final int PLACES = 256;
    /** Spreads hash codes (2 to the 32 divided by the golden ratio). */
    private static final int SPREAD = 0x9E3779B9;
    private static final int SHIFT = 24;

    private final AtomicReferenceArray<T> places = new AtomicReferenceArray<>(PLACES);

    /** Nothing came yet. */
    public Interner() {}

    /** Gives an equal value that came before, or this one. */
    public T same(T value) {
        int home = value.hashCode() * SPREAD >>> SHIFT;
        int other = home ^ 1;
        T before = value.equals(places.get(home)) ? places.get(home) : places.get(other);
        if (value.equals(before)) {
            return before;
        }
        places.set(places.get(home) == null ? home : other, value);
        return value;
    }
}
