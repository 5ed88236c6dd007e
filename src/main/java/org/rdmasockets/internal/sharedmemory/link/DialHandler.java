package org.rdmasockets.internal.sharedmemory.link;

import org.rdmasockets.verbs.VerbsException;

/** Gets the outcome of {@link LinkHub#dial}, once, in the thread that calls {@link LinkHub#drain}. */
public interface DialHandler {
    /** The process that listens there is linked, by an old link or a new one, which may be dead again by now. */
    void onLink(Link link);

    /**
     * There is no link: the listener has gone, is another user's, or speaks another version. The errno is one that a
     * connection event can carry.
     */
    void onFailed(VerbsException failure);
}
