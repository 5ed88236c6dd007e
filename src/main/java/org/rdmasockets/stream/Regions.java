package org.rdmasockets.stream;

import org.rdmasockets.verbs.MemoryRegion;

/**
 * The two regions that a connection has for all its life; see {@link RegionLayout}. The send region is null if it has
 * no size.
 */
record Regions(MemoryRegion send, MemoryRegion remote, RegionLayout layout) {}
