package org.rdmasockets.internal.ffi;

/**
 * The size of a page of this machine, as {@code getpagesize} tells: 4 KiB on x86-64, 4, 16 or 64 KiB on aarch64. Two
 * processes of a host agree on it. Memory that begins or ends with a page is measured by this, mere units are not.
 */
public final class PageSize {
    /** In bytes, a power of two. */
    public static final long BYTES = NativeFunction.returningInt("getpagesize").call();

    private PageSize() {}

    /** Rounds up to whole pages. */
    public static long roundUp(long bytes) {
        return bytes + BYTES - 1 & -BYTES;
    }
}
