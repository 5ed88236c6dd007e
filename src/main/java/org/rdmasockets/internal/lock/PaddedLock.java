package org.rdmasockets.internal.lock;

/** A lock with padding; see {@link Padded}. */
@SuppressWarnings("unused")
public final class PaddedLock extends SmallMutex {
    private static final long serialVersionUID = 1;

    private long apart0, apart1, apart2, apart3, apart4, apart5, apart6, apart7, apart8, apart9, apart10, apart11,
            apart12, apart13, apart14, apart15;

    /** Free. */
    public PaddedLock() {}
}
