package org.rdmasockets.internal.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * Memory for one packet and the descriptor that may come with it ({@code struct msghdr} with its parts). For one thread
 * at a time. It belongs to the garbage collector; the callers keep it reachable during calls by using it after them.
 *
 * <pre>
 *    0  struct msghdr (56)     16  iov   24  iovlen   32  control   40  controllen   48  flags
 *   56  struct iovec  (16)
 *   72  control       (1032)   struct cmsghdr (16: length, level, type), then descriptors of 4 bytes
 * 1104  the packet
 * </pre>
 */
public final class PacketBuffer {
    /** Longest packet, in bytes. */
    public static final int MAX_PACKET_BYTES = 128;

    private static final int IOV_POINTER_OFFSET = 16;
    private static final int IOV_COUNT_OFFSET = 24;
    private static final int CONTROL_POINTER_OFFSET = 32;
    private static final int CONTROL_LENGTH_OFFSET = 40;
    private static final int FLAGS_OFFSET = 48;
    private static final int IOV_OFFSET = 56;
    private static final int CONTROL_OFFSET = 72;
    /**
     * Room for all 253 descriptors that a packet can have: the kernel closes those that do not fit before it returns,
     * and that may take as long as a peer likes.
     */
    private static final int CONTROL_BYTES = 1032;
    private static final int CONTROL_LEVEL = CONTROL_OFFSET + 8;
    private static final int CONTROL_TYPE = CONTROL_OFFSET + 12;
    private static final int CONTROL_DATA = CONTROL_OFFSET + 16;
    private static final int CONTROL_HEADER_BYTES = 16;
    private static final int PACKET_OFFSET = CONTROL_OFFSET + CONTROL_BYTES;

    private final MemorySegment memory = Arena.ofAuto().allocate(PACKET_OFFSET + MAX_PACKET_BYTES, Long.BYTES);
    /** The same, for plain accesses, which take the interpreter less. */
    private final ByteBuffer fields = Posix.buffer(memory);
    private final ByteBuffer packet = Posix.buffer(memory.asSlice(PACKET_OFFSET));
    private final Captured captured = new Captured(Arena.ofAuto());
    /** The last call has left this there: how long the packet may be, and whether there was room for descriptors. */
    private int roomBytes;
    private boolean takesControl;
    private int length;
    /** The first descriptor of the packet received, or -1. */
    private int descriptor = -1;
    /** Whether the packet received broke the rules. */
    private boolean malformed;
    /** Whether a descriptor came that this process had no number for. */
    private boolean descriptorLost;

    /** An empty buffer. */
    public PacketBuffer() {
        fields.putLong(IOV_POINTER_OFFSET, memory.address() + IOV_OFFSET);
        fields.putLong(IOV_COUNT_OFFSET, 1);
        fields.putLong(IOV_OFFSET, memory.address() + PACKET_OFFSET);
    }

    /** The packet: memory of {@link #MAX_PACKET_BYTES} bytes, in the order of this host. */
    public ByteBuffer packet() {
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
        fields.putInt(FLAGS_OFFSET, 0);
        if (attached < 0) {
            makeRoom(bytes, 0);
        } else {
            makeRoom(bytes, CONTROL_HEADER_BYTES + Long.BYTES);
            fields.putLong(CONTROL_OFFSET, CONTROL_HEADER_BYTES + Integer.BYTES);
            fields.putInt(CONTROL_LEVEL, Posix.SOL_SOCKET);
            fields.putInt(CONTROL_TYPE, Posix.SCM_RIGHTS);
            fields.putInt(CONTROL_DATA, attached);
        }
        long sent = Posix.SENDMSG.call(socket, memory.address(), Posix.MSG_DONTWAIT | Posix.MSG_NOSIGNAL);
        return sent < 0 ? (int) sent : 0;
    }

    /** Sets how long the packet is, and what goes with it: the kernel changes the latter alone. */
    private void makeRoom(int bytes, int controlBytes) {
        if (roomBytes != bytes) {
            roomBytes = bytes;
            fields.putLong(IOV_OFFSET + Long.BYTES, bytes);
        }
        if (takesControl != controlBytes > 0) {
            takesControl = controlBytes > 0;
            fields.putLong(CONTROL_POINTER_OFFSET, takesControl ? memory.address() + CONTROL_OFFSET : 0);
        }
        fields.putLong(CONTROL_LENGTH_OFFSET, controlBytes);
    }

    /** Receives a packet: its length, 0 at the end of the stream, or a negated errno. */
    int receive(int socket) {
        makeRoom(MAX_PACKET_BYTES, CONTROL_BYTES);
        length = (int) Posix.RECVMSG.call(captured, socket, memory.address(),
                Posix.MSG_DONTWAIT | Posix.MSG_CMSG_CLOEXEC, 0);
        descriptor = -1;
        malformed = false;
        descriptorLost = false;
        if (length >= 0) {
            takeDescriptors();
            int flags = fields.getInt(FLAGS_OFFSET);
            descriptorLost = (flags & Posix.MSG_CTRUNC) != 0 && descriptor < 0;
            malformed |= (flags & Posix.MSG_TRUNC) != 0 || (flags & Posix.MSG_CTRUNC) != 0 && !descriptorLost;
        }
        return length;
    }

    /** Keeps the first descriptor and closes all others. Only the kernel writes here, so lengths can be trusted. */
    private void takeDescriptors() {
        if (fields.getLong(CONTROL_LENGTH_OFFSET) < CONTROL_HEADER_BYTES + Integer.BYTES
                || fields.getInt(CONTROL_LEVEL) != Posix.SOL_SOCKET
                || fields.getInt(CONTROL_TYPE) != Posix.SCM_RIGHTS) {
            return;
        }
        int count = (int) (fields.getLong(CONTROL_OFFSET) - CONTROL_HEADER_BYTES) / Integer.BYTES;
        descriptor = fields.getInt(CONTROL_DATA);
        for (int i = 1; i < count; i++) {
            malformed = true;
            Closer.close(fields.getInt(CONTROL_DATA + i * Integer.BYTES));
        }
    }
}
