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
    private long apart0;
    private long apart1;
    private long apart2;
    private long apart3;
    private long apart4;
    private long apart5;
    private long apart6;
    private long apart7;
    private long apart8;
    private long apart9;
    private long apart10;
    private long apart11;
    private long apart12;
    private long apart13;
    private long apart14;
    private long apart15;
}
