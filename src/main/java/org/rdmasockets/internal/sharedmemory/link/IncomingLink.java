package org.rdmasockets.internal.sharedmemory.link;

import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** A connection from a process that has not yet asked for a link; the hub's thread only. */
final class IncomingLink extends Source {
    private static final Log LOG = new Log(IncomingLink.class);
    private static final LimitedLog LIMITED = new LimitedLog(LOG);

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** The peer by the kernel's word, which does not know its hub. */
    final PeerId process;
    /** Whether the kernel says that it is of this network namespace. */
    private final boolean near;
    private final long start = System.nanoTime();
    /** The peer, once it said hello; else null. */
    private PeerId peer;

    IncomingLink(LinkHub hub, PacketSocket socket, PeerId process) {
        super(hub, socket);
        this.process = process;
        near = hub.isNear(socket);
    }

    /** Whether it comes from a peer that the kernel says to be of this network namespace. */
    boolean isFrom(PeerId other) {
        return near && other.isCertain() && other.equals(peer);
    }

    /** Whether it has been no link for too long: an honest process needs milliseconds, if it is not stopped. */
    boolean isSilent() {
        return System.nanoTime() - start > PATIENCE_NANOS;
    }

    @Override
    void ready(PacketBuffer buffer) {
        int length = socket.receive(buffer);
        if (length == -LinkHub.AGAIN) {
            return;
        }
        try {
            if (length <= 0) {
                finish(); // the peer found an older link, or died
            } else if (peer == null && LinkPacket.type(buffer) == LinkPacket.HELLO) {
                greet(buffer);
            } else if (peer != null && LinkPacket.type(buffer) == LinkPacket.SEGMENT) {
                link(buffer);
            } else {
                drop("it sent a packet that has no meaning, of " + length + " bytes");
            }
        } finally {
            buffer.closeDescriptor();
        }
    }

    /** Greets the peer; also one of another version, so that it can tell its user. */
    private void greet(PacketBuffer buffer) {
        int version = LinkPacket.number(buffer);
        peer = process.of(LinkPacket.first(buffer));
        if (near && peer.isCertain()) {
            hub.nearby(peer); // for links that this end has dialled, where that was not known
        }
        LinkPacket.write(buffer, LinkPacket.WELCOME, LinkPacket.VERSION, hub.number);
        int error = socket.send(buffer, LinkPacket.BYTES, -1);
        if (error != 0 || version != LinkPacket.VERSION) {
            drop("it speaks version " + version + ", and the answer ended with error " + error);
        }
    }

    private void link(PacketBuffer buffer) {
        if (buffer.isDescriptorLost()) {
            warn("this process has too many open files: raise ulimit -n");
            return;
        }
        try {
            Link link = Link.over(hub, socket, new LinkMemory(buffer.descriptor()), 1, peer);
            link.near = near;
            hub.arrived(this, link);
        } catch (VerbsException e) {
            if (e.errno() == Errno.EPROTO) {
                drop(e.getMessage());
            } else {
                warn(e.getMessage());
            }
        }
    }

    /** Drops it for a reason on this side. */
    private void warn(String reason) {
        LIMITED.warn("Process {} wanted to share memory and cannot be served: {}", process.process(), reason);
        finish();
    }

    private void drop(String reason) {
        LOG.debug("Process {} connected and was dropped: {}", process.process(), reason);
        finish();
    }

    @Override
    void finish() {
        try {
            hub.dropped(this);
        } finally {
            socket.close();
        }
    }
}
