package org.rdmasockets.internal.lock;

/**
 * Padding in front of the fields of a class, two cache lines, against false sharing: a garbage collector often puts
 * objects of one class side by side, and different processors may write them. For the few objects of a completion
 * queue, not for those of a connection.
 */
@SuppressWarnings("unused")
public abstract class Padded {
    /** Fills the place beside the header, where a subclass would otherwise have a field. */
    private int apart;
    private long apart0, apart1, apart2, apart3, apart4, apart5, apart6, apart7, apart8, apart9, apart10, apart11,
            apart12, apart13, apart14, apart15;
}
