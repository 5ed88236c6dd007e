package org.rdmasockets.internal.lock;

/** A lock far enough from another one; see {@link Padded}. */
@SuppressWarnings("unused")
public final class PaddedLock extends SmallMutex {
    private static final long serialVersionUID = 1;

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

    /** Free. */
    public PaddedLock() {}
}
