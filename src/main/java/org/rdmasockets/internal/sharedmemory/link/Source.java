package org.rdmasockets.internal.sharedmemory.link;

import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;

/** A socket that a hub watches, and what is done when it has something. */
abstract class Source {
    final LinkHub hub;
    final PacketSocket socket;
    /** Its number for the hub and the kernel, 0 before it has one; set before it is watched. */
    volatile int number;

    Source(LinkHub hub, PacketSocket socket) {
        this.hub = hub;
        this.socket = socket;
    }

    /** Handles what the socket has. Called by one thread at a time. */
    abstract void ready(PacketBuffer buffer);

    /** Fails this source alone: something was thrown in {@link #ready}, perhaps for lack of memory. */
    void failed() {
        finish();
    }

    /** The hub is being closed. */
    abstract void finish();
}
