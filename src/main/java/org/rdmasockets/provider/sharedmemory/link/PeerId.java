package org.rdmasockets.provider.sharedmemory.link;

/**
 * Who a peer is: what the kernel says, and the random number that the peer's hub says. Either alone would not do: a
 * process can have several hubs, and a hostile one can repeat the number of another to get its connections.
 *
 * @param process the number of the process, 0 if it is not visible here (in another container)
 * @param hub the number of the hub
 */
record PeerId(int process, long hub) {
    /** Whether the kernel vouches for this, so that a link to it may serve for further connections. */
    boolean isCertain() {
        return process > 0;
    }
}
