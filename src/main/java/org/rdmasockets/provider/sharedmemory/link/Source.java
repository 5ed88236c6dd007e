package org.rdmasockets.provider.sharedmemory.link;

import org.rdmasockets.provider.sharedmemory.os.PacketBuffer;

/** What a hub watches the socket of. */
interface Source {
    /**
     * The socket has something to do. Called by one thread at a time.
     *
     * @param buffer to receive with
     */
    void ready(PacketBuffer buffer);

    /** The hub is being closed. */
    void finish();
}
