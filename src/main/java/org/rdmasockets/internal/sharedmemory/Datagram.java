package org.rdmasockets.internal.sharedmemory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.verbs.AddressHandle;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.SendRequest;

/**
 * A datagram on its way: a routing header and data (InfiniBand specification, 8.3), for one sender and one send at a
 * time.
 *
 * <pre>
 * 0  version 6, class, flow label   4  payload length   6  next header   7  hop limit   8  source GID   24  destination
 * </pre>
 */
final class Datagram {
    /** The loopback address 127.0.0.1, mapped into IPv6. */
    static final Gid GID = new Gid(new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 127, 0, 0, 1});

    private static final int LENGTH_OFFSET = 4;
    private static final int NEXT_OFFSET = 6;
    private static final int SOURCE_OFFSET = 8;
    private static final int DESTINATION_OFFSET = SOURCE_OFFSET + Gid.LENGTH_BYTES;
    private static final byte VERSION_6 = 0x60;
    private static final byte NEXT_IS_TRANSPORT = 0x1B;
    private static final int HEADER_BYTES = AddressHandle.ROUTING_HEADER_BYTES;

    final int source;
    final MemorySegment memory = MemorySegment.ofArray(new byte[HEADER_BYTES + SharedMemoryDevice.MTU_BYTES]);
    /** Of header and data. */
    int lengthBytes;
    boolean hasImmediate;
    int immediate;

    Datagram(int source) {
        this.source = source;
        memory.set(ValueLayout.JAVA_BYTE, 0, VERSION_6);
        memory.set(ValueLayout.JAVA_BYTE, NEXT_OFFSET, NEXT_IS_TRANSPORT);
        memory.asSlice(SOURCE_OFFSET).copyFrom(MemorySegment.ofArray(GID.bytes()));
        memory.asSlice(DESTINATION_OFFSET).copyFrom(MemorySegment.ofArray(GID.bytes()));
    }

    /** The GID that a routing header names as its source. */
    static Gid source(MemorySegment header) {
        return new Gid(header.asSlice(SOURCE_OFFSET, Gid.LENGTH_BYTES).toArray(ValueLayout.JAVA_BYTE));
    }

    /** Takes over a request, whose pieces are entered and fit. */
    void fill(SendRequest request) {
        int data = request.bytes() != null ? request.bytesLength() : (int) request.elements().totalBytes();
        memory.set(ValueLayout.JAVA_BYTE, LENGTH_OFFSET, (byte) (data >>> 8));
        memory.set(ValueLayout.JAVA_BYTE, LENGTH_OFFSET + 1, (byte) data);
        ScatterGatherCopier.copyTo(request, 0, memory, HEADER_BYTES, data);
        lengthBytes = HEADER_BYTES + data;
        hasImmediate = request.opcode() == SendRequest.Opcode.SEND_WITH_IMMEDIATE;
        immediate = request.immediate();
    }
}
