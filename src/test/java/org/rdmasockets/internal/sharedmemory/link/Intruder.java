package org.rdmasockets.internal.sharedmemory.link;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetSocketAddress;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.ffi.Descriptors;
import org.rdmasockets.internal.ffi.SharedMapping;
import org.rdmasockets.internal.ffi.PacketBuffer;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.ffi.PageSize;
import org.rdmasockets.internal.ffi.SealedMemory;
import org.rdmasockets.internal.ffi.SocketDirectory;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** A process of the same user that says what it likes on a socket of its own, and writes what it likes into memory. */
final class Intruder implements AutoCloseable {
    private static final int PERMISSION = Errno.EPERM.number();
    private static final int AGAIN = Errno.EAGAIN.number();

    final PacketBuffer buffer = new PacketBuffer();
    private final PacketSocket socket;
    /** The link's memory, once there is a link. */
    private SharedMapping mapping;
    /** Its descriptor, which an honest process closes. */
    private SealedMemory memory;

    /** Connects and says nothing. */
    Intruder(InetSocketAddress address) throws VerbsException {
        socket = SocketDirectory.own().connect(LinkListener.name(address, false));
    }

    /** Connects and goes by the rules until the link is up. */
    static Intruder linked(InetSocketAddress address) throws Exception {
        Intruder intruder = new Intruder(address);
        intruder.greet(LinkPacket.VERSION);
        intruder.share();
        return intruder;
    }

    /** Says hello and waits for the answer. */
    void greet(int version) throws Exception {
        greet(version, System.nanoTime());
    }

    /** Says hello in the name of a hub and waits for the answer. */
    void greet(int version, long hub) throws Exception {
        LinkPacket.write(buffer, LinkPacket.HELLO, version, hub);
        send(LinkPacket.BYTES, -1);
        Await.until("a welcome", () -> socket.receive(buffer) != -AGAIN);
        assertEquals(LinkPacket.WELCOME, LinkPacket.type(buffer));
        assertEquals(LinkPacket.VERSION, LinkPacket.number(buffer));
    }

    /** Gives memory, after which the link is up. */
    void share() throws VerbsException {
        memory = SealedMemory.create(SegmentLayout.BYTES);
        mapping = SealedMemory.map(memory.descriptor(), SegmentLayout.BYTES);
        LinkPacket.write(buffer, LinkPacket.SEGMENT, 0, 0);
        send(LinkPacket.BYTES, memory.descriptor());
    }

    /** Does something to the file behind the link's memory: its errno. */
    int attackMemory(FileAttack attack, long bytes) {
        return attack.apply(memory.descriptor(), bytes);
    }

    /** An attack on a file. */
    interface FileAttack {
        int apply(int descriptor, long bytes);
    }

    /** Sends what is in the buffer. */
    void send(int bytes, int descriptor) {
        assertEquals(0, socket.send(buffer, bytes, descriptor), "errno of the intruder's send");
    }

    /** Sends what is in the buffer, if it can. */
    void trySend(int bytes) {
        socket.send(buffer, bytes, -1);
    }

    /** Sends a packet with a descriptor, which is closed after that, and waits until the victim hung up. */
    void sendAndClose(int type, int descriptor) throws Exception {
        LinkPacket.write(buffer, type, 0, 0);
        int error = socket.send(buffer, LinkPacket.BYTES, descriptor);
        Descriptors.closeSometime(descriptor);
        if (error != PERMISSION) { // the kernel takes none for a victim that has not looked who this is
            assertEquals(0, error, "errno of the intruder's send");
            awaitDropped();
        }
    }

    /** Sends a packet with a descriptor to a victim that may have hung up, and closes the descriptor. */
    void sendUnread(int descriptor) {
        LinkPacket.write(buffer, LinkPacket.SEGMENT, 0, 0);
        trySend(LinkPacket.BYTES, descriptor);
        Descriptors.closeSometime(descriptor);
    }

    void announce(int key, long lengthBytes, int descriptor) {
        announceAt(PageSize.BYTES, key, lengthBytes, descriptor);
    }

    void announceAt(long first, int key, long lengthBytes, int descriptor) {
        LinkPacket.write(buffer, LinkPacket.ANNOUNCE, key, first);
        LinkPacket.writeRegion(buffer, lengthBytes, -1, 0);
        trySend(LinkPacket.BYTES, descriptor);
    }

    /** Announces memory, as soon as the victim has read what was sent before; the descriptor stays the caller's. */
    void announceSurely(int key, long lengthBytes, int descriptor) throws Exception {
        LinkPacket.write(buffer, LinkPacket.ANNOUNCE, key, PageSize.BYTES);
        LinkPacket.writeRegion(buffer, lengthBytes, -1, 0);
        Await.until("room for an announcement", () -> socket.send(buffer, LinkPacket.BYTES, descriptor) == 0);
    }

    private void trySend(int bytes, int descriptor) {
        socket.send(buffer, bytes, descriptor);
    }

    /** Stores into the control page of the ring that the intruder fills. */
    void storeLong(long offset, long value) {
        SegmentLayout.LONG.setRelease(mapping.asBuffer(), (int) offset, value);
    }

    SharedMapping mapping() {
        return mapping;
    }

    void ring() {
        socket.ring();
    }

    /** Waits until the victim hung up. */
    void awaitDropped() throws Exception {
        Await.until("the victim to hang up", () -> {
            int length = socket.receive(buffer);
            buffer.closeDescriptor();
            return length <= 0 && length != -AGAIN;
        });
    }

    @Override
    public void close() {
        socket.close();
        if (mapping != null) {
            mapping.close();
            memory.close();
        }
    }
}
