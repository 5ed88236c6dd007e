package org.rdmasockets.internal.sharedmemory.link;

/** Gives each new link its handler. */
@FunctionalInterface
public interface LinkOwner {
    /**
     * A link to another process is about to carry entries, in the thread that calls {@link LinkHub#drain}, before any
     * other call about the link. Gives who gets what comes over it. Which side dialled does not matter to a link. Must
     * neither throw nor drain the link.
     */
    LinkHandler onLink(Link link);
}
