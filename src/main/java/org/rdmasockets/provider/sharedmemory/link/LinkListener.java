package org.rdmasockets.provider.sharedmemory.link;

import java.net.InetSocketAddress;
import org.rdmasockets.provider.os.PacketBuffer;
import org.rdmasockets.provider.os.PacketSocket;
import org.rdmasockets.verbs.VerbsException;

/** A name under which processes of this user and host find this process. */
public final class LinkListener implements AutoCloseable {
    /** As many as the kernel allows ({@code net.core.somaxconn} cuts it). */
    private static final int BACKLOG = 4096;
    /** Most connections taken at once, so that a peer that floods the name does not hold up others. */
    private static final int BATCH = 64;

    private final LinkHub hub;
    private final InetSocketAddress address;
    private final PacketSocket socket;
    /** The hub's number of the socket; set before the hub watches it. */
    private volatile long sourceId;

    private LinkListener(LinkHub hub, InetSocketAddress address, PacketSocket socket) {
        this.hub = hub;
        this.address = address;
        this.socket = socket;
    }

    /** Takes a name and lets the hub watch it. */
    static LinkListener open(LinkHub hub, InetSocketAddress address) throws VerbsException {
        PacketSocket socket = PacketSocket.listen(ListenerName.of(address), BACKLOG);
        LinkListener listener = new LinkListener(hub, address, socket);
        listener.sourceId = hub.number(new Source() {
            @Override
            public void ready(PacketBuffer buffer) {
                listener.acceptAll();
            }

            @Override
            public void finish() {
                listener.close();
            }
        });
        try {
            hub.watch(socket, listener.sourceId);
            return listener;
        } catch (VerbsException e) {
            listener.close();
            throw e;
        }
    }

    /**
     * The address that was taken.
     *
     * @return address or wildcard, and the port, never 0
     */
    public InetSocketAddress address() {
        return address;
    }

    private void acceptAll() {
        for (int i = 0; i < BATCH; i++) {
            PacketSocket accepted = acceptOne();
            if (accepted == null) {
                return;
            }
            hub.welcome(accepted);
        }
    }

    private PacketSocket acceptOne() {
        if (!socket.enter()) {
            return null;
        }
        try {
            return socket.accept();
        } catch (VerbsException e) {
            hub.refuseOne(socket, e);
            return null;
        } finally {
            socket.leave();
        }
    }

    /** Gives the name up at once; links that came through it stay. */
    @Override
    public void close() {
        hub.forget(sourceId);
        socket.close();
    }
}
