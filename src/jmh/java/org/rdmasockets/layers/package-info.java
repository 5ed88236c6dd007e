/**
 * Where the time of a message goes, floor by floor: each benchmark does what the one before does, with one floor more
 * on top. Both ends are played by one thread, over the link that two processes of a host have, so that nobody waits and
 * no byte changes from one processor's cache to another's: that is what a round trip between two processes has besides.
 */
package org.rdmasockets.layers;
