/**
 * Where the time of a message goes, floor by floor: each benchmark does what the one before does, with one floor more
 * on top. One thread plays both ends, over the link that two processes of a host have: it never waits, and no byte
 * moves from one processor's cache to another's. A round trip between two processes has these costs besides.
 */
package org.rdmasockets.layers;
