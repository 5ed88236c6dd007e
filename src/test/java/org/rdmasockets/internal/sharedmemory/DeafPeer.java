package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import org.rdmasockets.internal.sharedmemory.link.LinkConnector.DialHandler;
import org.rdmasockets.internal.sharedmemory.link.LinkHub.HubWaiter;
import org.rdmasockets.internal.sharedmemory.link.Link;
import org.rdmasockets.internal.sharedmemory.link.LinkHandler;
import org.rdmasockets.internal.sharedmemory.link.LinkHub;
import org.rdmasockets.internal.sharedmemory.link.LinkListener;
import org.rdmasockets.internal.sharedmemory.link.RingEntry;
import org.rdmasockets.internal.sharedmemory.link.RingWriter;
import org.rdmasockets.internal.sharedmemory.link.SharedRegion;
import org.rdmasockets.verbs.VerbsException;

/** A peer whose link is well made and whose entries are what a test says; it never reads its ring. */
final class DeafPeer implements LinkHandler, DialHandler, AutoCloseable {
    private final LinkHub hub = LinkHub.open(made -> {
        link = made;
        return this;
    });
    private final HubWaiter waiter = hub.newWaiter();
    /** Null until there is one. */
    volatile Link link;
    /** Why its end of the link ended, or there is none; null while neither is so. */
    volatile String ended;

    /** A peer that dials a listener. */
    DeafPeer(InetSocketAddress listener) throws VerbsException {
        hub.dial(listener, this);
    }

    /** A peer that no other knows yet. */
    DeafPeer() throws VerbsException {}

    /** Has others dial this. */
    LinkListener listen(InetSocketAddress address) throws VerbsException {
        return hub.listen(address);
    }

    @Override
    public void onLink(Link made) {
        link = made;
    }

    @Override
    public void onFailed(VerbsException failure) {
        ended = failure.getMessage();
    }

    @Override
    public void onEntry(Link source, RingEntry entry) {
        throw new AssertionError("nobody reads");
    }

    @Override
    public void onDoorbell(Link source) {
        // Deaf.
    }

    @Override
    public void onClosed(Link source, String reason) {
        ended = reason;
        source.close();
    }

    /** Does what there is to do; whether there is a link. */
    boolean serve() throws VerbsException {
        if (waiter.await(0)) {
            waiter.drain();
        }
        return link != null;
    }

    /** Allocates memory that can be announced. */
    SharedRegion allocate(long bytes) throws VerbsException {
        return hub.allocate(bytes);
    }

    /** Sends an entry; false if there is no room for it. */
    boolean send(int kind, int flags, int slot, int value, byte[] payload) {
        RingWriter writer = link.writer();
        writer.lock();
        try {
            if (!writer.begin(payload.length)) {
                return false;
            }
            writer.header(kind, flags, slot, value, payload.length);
            MemorySegment.copy(payload, 0, writer.memory(), ValueLayout.JAVA_BYTE, writer.payloadOffset(),
                    payload.length);
            writer.publish();
            return true;
        } finally {
            writer.unlock();
        }
    }

    /** Sends bytes along that are to be written; there is room for them. */
    void write(int slot, byte[] bytes, long address, long key) {
        RingWriter writer = link.writer();
        writer.lock();
        try {
            writer.begin(bytes.length);
            writer.header(LinkDispatcher.INLINE_WRITE, LinkDispatcher.IMMEDIATE, slot, 0, address);
            writer.second(key);
            MemorySegment.copy(bytes, 0, writer.memory(), ValueLayout.JAVA_BYTE, writer.payloadOffset(), bytes.length);
            writer.publish();
        } finally {
            writer.unlock();
        }
    }

    @Override
    public void close() {
        waiter.close();
        hub.close();
    }
}
