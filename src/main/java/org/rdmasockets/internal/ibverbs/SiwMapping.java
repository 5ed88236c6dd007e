package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.verbs.VerbsException;

/**
 * Keeps soft-iWARP from failing at the 145th page of its queues.
 *
 * <p>The kernel's siw numbers the pages of all queues of a context, the lowest free first, and tells the user library
 * where a new queue begins as a key, the byte offset for {@code mmap}. The user library takes one such key for "there
 * is none": {@code SIW_INVAL_UOBJ_KEY} of {@code rdma/siw-abi.h}, 0x90000, page 144. A queue that begins just there
 * fails, without errno; that frees the page, and so does every later queue of that size or more: with about fifty
 * connections open there would be no further one. So the page is taken, once for each context, before anything else
 * is made: by a completion queue that begins before it, ends behind it and is never destroyed.
 */
final class SiwMapping {
    /** Of 32 bytes each: a MiB, 256 pages. */
    private static final int ENTRIES = 32_768;

    private SiwMapping() {}

    /** Takes the page, by a context of siw on which no queue was made; throws if the queue cannot be made. */
    static void takeReservedKey(MemorySegment context, String text) throws VerbsException {
        ControlCall.IBV_CREATE_CQ.pointer(text + ", entries=" + ENTRIES, context, ENTRIES, MemorySegment.NULL,
                MemorySegment.NULL, 0);
    }
}
