package org.rdmasockets.internal.sharedmemory.link;

import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;

/** A socket that a hub watches, and what is done when it has something. */
abstract class Source {
    final LinkHub hub;
    final PacketSocket socket;
    /** Its name for the hub and the kernel, 0 for nothing yet; set before it is watched. */
    volatile int number;

    Source(LinkHub hub, PacketSocket socket) {
        this.hub = hub;
        this.socket = socket;
    }

    /** The socket has something to do. Called by one thread at a time. */
    abstract void ready(PacketBuffer buffer);

    /** Something was thrown while it did that, perhaps for lack of memory: it fails, and no other. */
    void failed() {
        finish();
    }

    /** The hub is being closed. */
    abstract void finish();
}
