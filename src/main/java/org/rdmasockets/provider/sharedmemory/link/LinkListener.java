package org.rdmasockets.provider.sharedmemory.link;

import java.net.InetSocketAddress;

/** A name under which processes of this user and host find this process. */
public interface LinkListener extends AutoCloseable {
    /**
     * The address that was taken.
     *
     * @return address or wildcard, and the port, never 0
     */
    InetSocketAddress address();

    /** Gives the name up at once; links that came through it stay. */
    @Override
    void close();
}
