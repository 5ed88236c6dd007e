package org.rdmasockets.stream;

import org.rdmasockets.verbs.MemoryRegion;

/**
 * The two regions that a connection has for all its life; see {@link RegionLayout}.
 *
 * @param send the send region, null if it has no size
 * @param remote the region that the peer may write to
 * @param layout where things lie in them
 */
record Regions(MemoryRegion send, MemoryRegion remote, RegionLayout layout) {
}
