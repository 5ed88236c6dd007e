package org.rdmasockets.internal.sharedmemory.link;

/** Gives each new link its handler. */
@FunctionalInterface
public interface LinkOwner {
    /**
     * A link to another process is about to carry entries, in the thread that calls {@link LinkHub#drain}, before any
     * other call about the link. Gives the handler for all that comes over it. A link is the same on the side that
     * dialled and on the other. Must neither throw nor drain the link.
     */
    LinkHandler onLink(Link link);
}
