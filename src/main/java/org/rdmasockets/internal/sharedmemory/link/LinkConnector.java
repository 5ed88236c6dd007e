package org.rdmasockets.internal.sharedmemory.link;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.ffi.SealedMemory;
import org.rdmasockets.internal.ffi.SharingPolicy;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** An attempt to reach a listener's process. */
public final class LinkConnector extends Source implements AutoCloseable {
    /** Gets the outcome of {@link LinkHub#dial}, once, in the thread that calls {@link LinkHub.HubWaiter#drain}. */
    public interface DialHandler {
        /** The process that listens there is linked, by an old link or a new one, which may be dead again by now. */
        void onLink(Link link);

        /**
         * There is no link: the listener has gone, shares no memory with this user, or speaks another version. The
         * errno is one that a connection event can carry.
         */
        void onFailed(VerbsException failure);
    }

    private static final int RESET = Errno.ECONNRESET.number();
    private static final int HUNG_UP = Errno.EPIPE.number();

    private final String name;
    private final DialHandler handler;
    /** Whether the outcome was told or is about to be, or this was closed. */
    private final AtomicBoolean done = new AtomicBoolean();
    /** The listener's process, as the kernel says. */
    private final PeerId process;
    /** The failure to report when there may be no memory to make another. */
    private final VerbsException aborted;

    private LinkConnector(LinkHub hub, PacketSocket socket, String name, DialHandler handler) throws VerbsException {
        super(hub, socket);
        this.name = name;
        this.handler = handler;
        process = hub.process(socket);
        aborted = new VerbsException("connect", Errno.ECONNABORTED, "name=" + name);
    }

    /** Says hello over a socket that is connected to a name, and lets the hub wait for the answer. */
    static LinkConnector start(LinkHub hub, PacketSocket socket, String name, DialHandler handler)
            throws VerbsException {
        try {
            LinkConnector dial = new LinkConnector(hub, socket, name, handler);
            PacketBuffer hello = new PacketBuffer();
            LinkPacket.write(hello, LinkPacket.HELLO, LinkPacket.VERSION, hub.number);
            int error = socket.send(hello, LinkPacket.BYTES, -1);
            if (error != 0 && error != HUNG_UP && error != RESET) {
                throw dial.refusal("the greeting was not sent, by error " + error);
            }
            hub.watch(dial); // also if the listener has hung up: it has said why
            return dial;
        } catch (Throwable e) {
            socket.close();
            throw e;
        }
    }

    /** Whether the listener's process is known to be stopped. */
    public boolean isPeerStopped() {
        return process.isStopped();
    }

    @Override
    void finish() {
        fail(aborted);
    }

    /** The listener has answered. */
    @Override
    void ready(PacketBuffer buffer) {
        int length = socket.receive(buffer);
        if (length == -RESET) { // the listener had not read the hello: its words come after this
            length = socket.receive(buffer);
        }
        if (length == -LinkHub.AGAIN) {
            return;
        }
        int type = length > 0 ? LinkPacket.type(buffer) : 0;
        boolean welcome = type == LinkPacket.WELCOME;
        int version = LinkPacket.number(buffer);
        PeerId peer = process.of(LinkPacket.first(buffer));
        buffer.closeDescriptor();
        if (type == LinkPacket.REFUSED) {
            fail(refusal("the listener's process, of user " + Integer.toUnsignedString(process.user())
                    + ", shares no memory with this one: " + SharingPolicy.remedy(process.user(), version)));
        } else if (!welcome) {
            fail(refusal("the listener hung up"));
        } else if (version != LinkPacket.VERSION) {
            fail(refusal("the listener speaks version " + version + " of shared memory, this process version "
                    + LinkPacket.VERSION + "; use one version of this library in both"));
        } else if (peer.hub() == hub.number && !hub.linksToItself) {
            fail(refusal("the listener was this process's own"));
        } else {
            link(peer, buffer);
        }
    }

    private VerbsException refusal(String reason) {
        return new VerbsException("connect", Errno.ECONNREFUSED.number(), "name=" + name, reason);
    }

    /** Takes the link that is there, or makes one. */
    private void link(PeerId peer, PacketBuffer buffer) {
        if (done.getAndSet(true)) {
            return;
        }
        boolean linked = false;
        boolean told = false;
        try {
            Link link = hub.linkTo(peer);
            if (link != null) {
                discard();
            } else {
                link = Link.over(hub, socket, shareMemory(buffer), 0, peer);
                hub.begin(link, this);
            }
            linked = true;
            handler.onLink(link);
            told = true;
        } catch (VerbsException e) {
            told = true;
            discard(e);
        } finally {
            if (!told && linked) { // an Error costs this attempt, not the link; the handler hears of it
                handler.onFailed(aborted);
            } else if (!told) {
                discard(aborted);
            }
        }
    }

    /** Makes the link's memory, with both sides armed, and gives it to the listener. */
    private LinkMemory shareMemory(PacketBuffer buffer) throws VerbsException {
        try (SealedMemory memory = SealedMemory.create(SegmentLayout.BYTES)) {
            LinkMemory mapping = new LinkMemory(memory.descriptor());
            try {
                ByteBuffer control = mapping.asBuffer();
                SegmentLayout.INT.setRelease(control, SegmentLayout.control(0) + SegmentLayout.ARMED, 1);
                SegmentLayout.INT.setRelease(control, SegmentLayout.control(1) + SegmentLayout.ARMED, 1);
                LinkPacket.write(buffer, LinkPacket.SEGMENT, 0, 0);
                if (socket.send(buffer, LinkPacket.BYTES, memory.descriptor()) != 0) {
                    throw refusal("the listener has just gone");
                }
                return mapping;
            } catch (Throwable e) {
                mapping.close();
                throw e;
            }
        }
    }

    private void fail(VerbsException failure) {
        if (!done.getAndSet(true)) {
            discard(failure);
        }
    }

    private void discard(VerbsException failure) {
        try {
            discard();
        } finally {
            handler.onFailed(failure);
        }
    }

    private void discard() {
        try {
            hub.forget(this);
        } finally {
            socket.close();
        }
    }

    /** Gives the attempt up: its handler is not called any more, unless the outcome is on its way already. */
    @Override
    public void close() {
        StackRoom.ensureSection(); // a socket that is watched, and is no source, is ready for ever
        if (!done.getAndSet(true)) {
            discard();
        }
    }
}
