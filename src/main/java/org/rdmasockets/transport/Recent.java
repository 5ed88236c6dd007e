package org.rdmasockets.transport;

/**
 * Lets equal values that are made one after the other be one object: what thousands of connections are made with is
 * mostly the same. Any thread.
 *
 * @param <T> an immutable type with {@code equals}
 */
final class Recent<T> {
    private volatile T last;

    /** Nothing came yet. */
    Recent() {
    }

    /** The value, or the one before if that is equal. */
    T same(T value) {
        T before = last;
        if (value.equals(before)) {
            return before;
        }
        last = value;
        return value;
    }
}
