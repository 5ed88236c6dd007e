package org.rdmasockets.internal.sharedmemory.link;

/**
 * Gets what comes over one {@link Link}. Nothing here may throw, but an {@code Error}: what was told then is told
 * again, an entry at the next drain. Calls of one link do not overlap, except that {@link #onDoorbell} and
 * {@link #onClosed} may come while another thread drains.
 */
public interface LinkHandler {
    /**
     * An entry of the peer, in the thread that called {@link Link#drain} or {@link Link#tryDrain}, valid during the
     * call only. The header is a private copy, the payload is still in memory that a hostile peer may change at any
     * time: copy it once, and judge the copy. The link's consumer lock is held, so a handler may publish and open or
     * close slots, but must neither drain this link nor wait. If it throws, the entry stays in place.
     */
    void onEntry(Link link, RingEntry entry);

    /**
     * The peer rang, in the thread that calls {@link LinkHub.HubWaiter#drain}: there are entries and this side was
     * armed, or there is room in the ring again, or a receive was posted for which a slot was starving. May also come
     * for no reason. The handler drains, arms if a thread sleeps, drains again, and retries all requests that wait for
     * room or for a receive.
     */
    void onDoorbell(Link link);

    /**
     * The link is dead, once, in the thread that calls {@link LinkHub.HubWaiter#drain}: the peer's process ended, or
     * either side failed the link. Entries that the peer published before can still be drained, until
     * {@link Link#close}, which the handler's owner must call in the end; the peer's regions go when this returns. The
     * reason is a sentence for a person.
     */
    void onClosed(Link link, String reason);
}
