/**
 * Links between processes of one host, of one user unless others are permitted: memory that both see. A process can end
 * its own links at any time; it cannot harm the links of others.
 *
 * <ul>
 * <li>{@link org.rdmasockets.internal.sharedmemory.link.LinkHub} is the way in: it takes names, dials names, and gives
 *     out one {@link org.rdmasockets.internal.sharedmemory.link.Link} per peer process. {@code LinkConnector} and
 *     {@code IncomingLink} are the two sides of a greeting, with the packets of {@code LinkPacket}; the kernel says who
 *     the other side is.
 * <li>A link is a socket and one sealed segment ({@code SegmentLayout}): a ring each way
 *     ({@link org.rdmasockets.internal.sharedmemory.link.RingWriter}, {@code RingReader}), a
 *     {@link org.rdmasockets.internal.sharedmemory.link.LinkSlot} per queue pair, and words that say who wants to be
 *     rung. The socket carries doorbells, announcements of regions with their descriptors, and, by its end, the death
 *     of the peer.
 * <li>{@link org.rdmasockets.internal.sharedmemory.link.SharedRegion} is memory to give access to,
 *     {@link org.rdmasockets.internal.sharedmemory.link.PeerRegion} memory that a peer gave access to.
 * </ul>
 *
 * <p>All that a peer writes is a claim. Each side keeps its own positions private; the peer's, and lengths, are copied
 * out once and checked; a violation ends that link alone, with a reason. Nothing here waits for a peer.
 *
 * <p>Wake-ups: the side that publishes an entry fences and then looks whether the other side wants to be rung; a side
 * that wants to be rung says so, fences and then looks for entries once more. So one of them sees the other. A ring is
 * one byte on the socket; if the socket is full, its reader is on the way. Entries that begin or end a connection
 * always ring. The {@code package-info} of {@code internal.waiting} has the rest of the way to a parked thread.
 *
 * <p>An entry may stay open: its first argument may be changed until the other side takes it, by atomic operations of
 * both. The side that changes it need not ring, because the entry is still going to be taken.
 *
 * <p>Threads: any thread may enter anywhere; no thread is started. Handlers are called in the thread that calls
 * {@code HubWaiter.drain} or {@code Link.drain}. This package does not know the meaning of entries.
 */
package org.rdmasockets.internal.sharedmemory.link;
