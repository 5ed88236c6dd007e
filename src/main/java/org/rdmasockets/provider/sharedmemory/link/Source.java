package org.rdmasockets.provider.sharedmemory.link;

import org.rdmasockets.provider.os.PacketBuffer;

/** What a hub watches the socket of. */
interface Source {
    /** The socket has something to do. Called by one thread at a time. */
    void ready(PacketBuffer buffer);

    /** Something was thrown while it did that, for want of memory perhaps: it fails, and no other. */
    default void failed() {
        finish();
    }

    /** Somebody who was told that there is something to do did not get to it: to be told again. */
    default void again() {
        // told always, unless only one is told of the socket
    }

    /** The hub is being closed. */
    void finish();
}
