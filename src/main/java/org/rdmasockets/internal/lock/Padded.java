package org.rdmasockets.internal.lock;

/**
 * Room in front of the fields of a class, two lines of memory: of two objects that lie side by side, as a garbage
 * collector likes to put those of one class, one processor may write one and another the other without taking the line
 * from each other for each write. For the few objects of a completion queue, not for those of a connection.
 */
@SuppressWarnings("unused")
public abstract class Padded {
    /** Beside the header, where a class that extends this would have a field of its own else. */
    private int apart;
    private long apart0, apart1, apart2, apart3, apart4, apart5, apart6, apart7, apart8, apart9, apart10, apart11,
            apart12, apart13, apart14, apart15;
}
