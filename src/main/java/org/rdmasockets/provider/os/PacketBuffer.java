package org.rdmasockets.provider.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory for one packet and the descriptor that may come with it ({@code struct msghdr} with its parts). For one thread
 * at a time. It belongs to the garbage collector; the callers keep it reachable during calls by using it after them.
 *
 * <pre>
 *    0  struct msghdr (56)     16  iov   24  iovlen   32  control   40  controllen   48  flags
 *   56  struct iovec  (16)
 *   72  control       (1032)   struct cmsghdr (16: length, level, type), then descriptors of 4 bytes
 * 1104  errno of the call
 * 1112  the packet
 * </pre>
 */
public final class PacketBuffer {
    /** Longest packet, in bytes. */
    public static final int MAX_PACKET_BYTES = 128;

    private static final long IOV_POINTER_OFFSET = 16;
    private static final long IOV_COUNT_OFFSET = 24;
    private static final long CONTROL_POINTER_OFFSET = 32;
    private static final long CONTROL_LENGTH_OFFSET = 40;
    private static final long FLAGS_OFFSET = 48;
    private static final long IOV_OFFSET = 56;
    private static final long CONTROL_OFFSET = 72;
    /**
     * Room for all 253 descriptors that a packet can have: the kernel closes those that do not fit before it returns,
     * and that may take as long as a peer likes.
     */
    private static final long CONTROL_BYTES = 1032;
    private static final long CONTROL_LEVEL = CONTROL_OFFSET + 8;
    private static final long CONTROL_TYPE = CONTROL_OFFSET + 12;
    private static final long CONTROL_DATA = CONTROL_OFFSET + 16;
    private static final long CONTROL_HEADER_BYTES = 16;
    private static final long CAPTURED_OFFSET = CONTROL_OFFSET + CONTROL_BYTES;
    private static final long PACKET_OFFSET = CAPTURED_OFFSET + Long.BYTES;

    private final MemorySegment memory = Arena.ofAuto().allocate(PACKET_OFFSET + MAX_PACKET_BYTES, Long.BYTES);
    private final MemorySegment packet = memory.asSlice(PACKET_OFFSET);
    private final MemorySegment captured = memory.asSlice(CAPTURED_OFFSET, Long.BYTES);
    private int length;
    /** The first descriptor of the packet received, or -1. */
    private int descriptor = -1;
    /** Whether the packet received broke the rules. */
    private boolean malformed;
    /** Whether a descriptor came that this process had no number for. */
    private boolean descriptorLost;

    /** An empty buffer. */
    public PacketBuffer() {
        memory.set(JAVA_LONG, IOV_POINTER_OFFSET, memory.address() + IOV_OFFSET);
        memory.set(JAVA_LONG, IOV_COUNT_OFFSET, 1);
        memory.set(JAVA_LONG, IOV_OFFSET, packet.address());
    }

    /** The packet: memory of {@link #MAX_PACKET_BYTES} bytes, aligned to 8. */
    public MemorySegment packet() {
        return packet;
    }

    /** How long the packet received is, at least 1 byte. */
    public int length() {
        return length;
    }

    /** Whether the packet received is useless: too long, or with more than one descriptor. */
    public boolean isMalformed() {
        return malformed;
    }

    /** Whether the packet received had a descriptor that this process could not take, because it has too many. */
    public boolean isDescriptorLost() {
        return descriptorLost;
    }

    /** The packet's descriptor, -1 for none; the caller's to close until {@link #closeDescriptor}. */
    public int descriptor() {
        return descriptor;
    }

    /** Lets the closer close the descriptor that came with the packet, if there is one. */
    public void closeDescriptor() {
        if (descriptor >= 0) {
            Closer.close(descriptor);
            descriptor = -1;
        }
    }

    /** Sends the first bytes of the packet, with a descriptor unless that is -1: 0 or a negated errno. */
    int send(int socket, int bytes, int attached) {
        memory.set(JAVA_LONG, IOV_OFFSET + 8, bytes);
        memory.set(JAVA_INT, FLAGS_OFFSET, 0);
        if (attached < 0) {
            setControl(0);
        } else {
            setControl(CONTROL_HEADER_BYTES + Long.BYTES);
            memory.set(JAVA_LONG, CONTROL_OFFSET, CONTROL_HEADER_BYTES + Integer.BYTES);
            memory.set(JAVA_INT, CONTROL_LEVEL, Posix.SOL_SOCKET);
            memory.set(JAVA_INT, CONTROL_TYPE, Posix.SCM_RIGHTS);
            memory.set(JAVA_INT, CONTROL_DATA, attached);
        }
        long sent = Posix.SENDMSG.call(socket, memory.address(), Posix.MSG_DONTWAIT | Posix.MSG_NOSIGNAL);
        return sent < 0 ? (int) sent : 0;
    }

    private void setControl(long bytes) {
        memory.set(JAVA_LONG, CONTROL_POINTER_OFFSET, bytes == 0 ? 0 : memory.address() + CONTROL_OFFSET);
        memory.set(JAVA_LONG, CONTROL_LENGTH_OFFSET, bytes);
    }

    /** Receives a packet: its length, 0 at the end of the stream, or a negated errno. */
    int receive(int socket) {
        memory.set(JAVA_LONG, IOV_OFFSET + 8, MAX_PACKET_BYTES);
        setControl(CONTROL_BYTES);
        length = Posix.receiveMessage(captured, socket, memory.address());
        descriptor = -1;
        malformed = false;
        descriptorLost = false;
        if (length >= 0) {
            takeDescriptors();
            int flags = memory.get(JAVA_INT, FLAGS_OFFSET);
            descriptorLost = (flags & Posix.MSG_CTRUNC) != 0 && descriptor < 0;
            malformed |= (flags & Posix.MSG_TRUNC) != 0 || (flags & Posix.MSG_CTRUNC) != 0 && !descriptorLost;
        }
        return length;
    }

    /** Keeps the first descriptor and closes all others. Only the kernel writes here, so lengths can be trusted. */
    private void takeDescriptors() {
        if (memory.get(JAVA_LONG, CONTROL_LENGTH_OFFSET) < CONTROL_HEADER_BYTES + Integer.BYTES
                || memory.get(JAVA_INT, CONTROL_LEVEL) != Posix.SOL_SOCKET
                || memory.get(JAVA_INT, CONTROL_TYPE) != Posix.SCM_RIGHTS) {
            return;
        }
        long count = (memory.get(JAVA_LONG, CONTROL_OFFSET) - CONTROL_HEADER_BYTES) / Integer.BYTES;
        descriptor = memory.get(JAVA_INT, CONTROL_DATA);
        for (long i = 1; i < count; i++) {
            malformed = true;
            Closer.close(memory.get(JAVA_INT, CONTROL_DATA + i * Integer.BYTES));
        }
    }
}
